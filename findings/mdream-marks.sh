#!/usr/bin/env bash
# mdream 1.7.2 (Node.js), HTML to Markdown of 2026 for language models: a table with a cell over two rows, a list of tasks, and marks with spaces.
# Expected: an empty cell in the second row, `[x]` and `[ ]` as in GitHub's Markdown, and `a *b* c`.
# Seen: the price of the second row stands below the heading of the plans. Tasks that are done look like those that are not. For `<i> b</i>`
# it writes `* b*`, which is no emphasis in Markdown, so that the asterisks are shown, but for `<i>b </i>` what was expected.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mdream@1.7.2 marked@18.2.1
cat > convert.js <<'SCRIPT'
import { marked } from 'marked';
import { htmlToMarkdown } from 'mdream';
const convert = (html) => {
  const result = htmlToMarkdown(html);
  return typeof result === 'string' ? result : result.markdown;
};
const rows = '<tr><td rowspan="2">Basic</td><td>10</td></tr><tr><td>100</td></tr>';
console.log(convert(`<table><tr><th>Plan</th><th>Price</th></tr>${rows}</table>`));
console.log(convert('<ul><li><input type="checkbox" checked> paid</li><li><input type="checkbox"> sent</li></ul>'));
for (const html of ['<p>a<i> b</i> c</p>', '<p>a <i>b </i>c</p>']) console.log(convert(html), '=', marked.parse(convert(html)).trim());
SCRIPT
output=$(node convert.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
| Plan | Price |
| --- | --- |
| Basic | 10 |
| 100 |
- paid
- sent
a* b* c = <p>a* b* c</p>
a *b* c = <p>a <em>b</em> c</p>
SCRIPT
echo 'as described'
