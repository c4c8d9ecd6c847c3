#!/usr/bin/env bash
# Turndown 7.2.5 with marked 18.2.1, markdown-it 15.0.3 and remark-gfm 4.0.1 (Node.js): HTML that names an address in its text is
# converted to Markdown and back.
# Expected: the text is as before; where the renderer makes a link of it, the link leads to the address.
# Seen: Turndown writes a backslash before each underscore, and the renderers, which make links of bare addresses before they handle
# backslashes, link to an address with `%5C` in it. marked makes the mail address of another person of one with an underscore.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund turndown@7.2.5 marked@18.2.1 markdown-it@15.0.3 remark@15.0.1 remark-gfm@4.0.1 \
  remark-html@16.0.1
cat > links.js <<'SCRIPT'
import MarkdownIt from 'markdown-it';
import { marked } from 'marked';
import { remark } from 'remark';
import gfm from 'remark-gfm';
import html from 'remark-html';
import TurndownService from 'turndown';
const renderers = {
  marked,
  'markdown-it': (text) => new MarkdownIt({ linkify: true }).render(text),
  remark: (text) => String(remark().use(gfm).use(html).processSync(text)),
};
for (const text of ['https://a.example/annual_report.pdf', 'ann_lee@a.example']) {
  const markdown = new TurndownService().turndown(`<p>${text}</p>`);
  console.log('Markdown', markdown);
  for (const [name, render] of Object.entries(renderers)) console.log(name, render(markdown).match(/href="(.*?)"/)?.[1]);
}
SCRIPT
output=$(node links.js)
echo "$output"
grep -qxF 'Markdown https://a.example/annual\_report.pdf' <<<"$output"
for name in marked markdown-it remark; do
  grep -qxF "$name https://a.example/annual%5C_report.pdf" <<<"$output"
done
grep -qxF 'marked mailto:lee@a.example' <<<"$output"
echo 'as described'
