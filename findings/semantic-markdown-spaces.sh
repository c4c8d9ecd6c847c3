#!/usr/bin/env bash
# dom-to-semantic-markdown 1.5.0 (Node.js), HTML to Markdown for language models: elements within a word or a number.
# Expected: no spaces that the page does not show, and `del` as `~~`, which it writes for `s`.
# Seen: a space before and after each element within a paragraph: 10<sup>6</sup> is "10 6", a price of 1250 with a `span` is "1 250" and a
# word with a bold part is three words. `del` is left out around its text, so that an old price stands beside the new one. A line break in
# a cell of a table ends its row. turndown 7.2.5 joins them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund dom-to-semantic-markdown@1.5.0 jsdom@26.1.0 turndown@7.2.5
cat > convert.js <<'SCRIPT'
import { convertHtmlToMarkdown } from 'dom-to-semantic-markdown';
import { JSDOM } from 'jsdom';
import Turndown from 'turndown';
const overrideDOMParser = new (new JSDOM('').window.DOMParser)();
const SENTENCES = ['10<sup>6</sup> kg', 'EUR 1<span>250</span>', 'un<b>believ</b>able', 'Now <del>100</del> 80', 'Now <s>100</s> 80'];
for (const sentence of SENTENCES) {
  const html = `<p>${sentence}</p>`;
  console.log(`${sentence} = ${convertHtmlToMarkdown(html, { overrideDOMParser })} / ${new Turndown().turndown(html)}`);
}
const table = '<table><tr><th>Day</th><th>Price</th></tr><tr><td>Sat<br>Sun</td><td>80</td></tr></table>';
console.log(convertHtmlToMarkdown(table, { overrideDOMParser }));
SCRIPT
output=$(node convert.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
10<sup>6</sup> kg = 10 6 kg / 106 kg
EUR 1<span>250</span> = EUR 1 250 / EUR 1250
un<b>believ</b>able = un **believ** able / un**believ**able
Now <del>100</del> 80 = Now 100 80 / Now 100 80
Now <s>100</s> 80 = Now ~~100~~ 80 / Now 100 80
| Day | Price |
| --- | --- |
| Sat
Sun | 80 |
SCRIPT
echo 'as described'
