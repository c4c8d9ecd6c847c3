#!/usr/bin/env bash
# markdownify 1.2.3 (Python) and node-html-markdown 2.0.0 (Node.js): cells of HTML tables with a vertical bar or a line break, and a list
# that starts at 5; rendered again by markdown-it 15.0.3 (Node.js).
# Expected: the same cells and numbers.
# Seen: markdownify does not escape the bar, so that `ls | wc` fills two cells and the last cell of the row is lost. node-html-markdown
# joins the lines, "Unit 12" and "34 Main Street", to "Unit 1234 Main Street", and starts the list at 1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node-html-markdown@2.0.0 markdown-it@15.0.3
python3 -m venv venv
venv/bin/pip install --quiet markdownify==1.2.3
cat > page.html <<'TEXT'
<table><tr><th>A</th><th>B</th></tr><tr><td>ls | wc</td><td>Unit 12<br>34 Main Street</td></tr></table><ol start="5"><li>five</li></ol>
TEXT
cat > convert.py <<'SCRIPT'
from pathlib import Path
from markdownify import markdownify
Path("markdownify.md").write_text(markdownify(Path("page.html").read_text()))
SCRIPT
cat > convert.js <<'SCRIPT'
import { readFileSync, writeFileSync } from 'node:fs';
import MarkdownIt from 'markdown-it';
import { NodeHtmlMarkdown } from 'node-html-markdown';
writeFileSync('node-html-markdown.md', NodeHtmlMarkdown.translate(readFileSync('page.html', 'utf8')));
for (const name of ['markdownify', 'node-html-markdown']) {
  const html = new MarkdownIt().render(readFileSync(`${name}.md`, 'utf8'));
  const cells = [...html.matchAll(/<td>(.*?)<\/td>/g)].map(([, text]) => text);
  console.log(name, cells.join(' / '), '| list starts at', html.match(/<ol start="(\d+)"/)?.[1] ?? 1);
}
SCRIPT
venv/bin/python convert.py
output=$(node convert.js)
echo "$output"
grep -qxF 'markdownify ls / wc | list starts at 5' <<<"$output"
grep -qxF 'node-html-markdown ls | wc / Unit 1234 Main Street | list starts at 1' <<<"$output"
echo 'as described'
