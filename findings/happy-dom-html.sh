#!/usr/bin/env bash
# happy-dom 21.0.4 (Node.js): valid HTML with a paragraph without its end tag in a list, an unquoted address, and a textarea with markup.
# Expected: the elements of the HTML standard, as parse5 8.1.1 has them.
# Seen: the next list item is within the paragraph of the one before, the address `/docs/` loses its slash at the end, and the text of
# the textarea becomes an element.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund happy-dom@21.0.4 parse5@8.1.1
cat > parse.js <<'SCRIPT'
import { Window } from 'happy-dom';
import { parseFragment, serialize } from 'parse5';
const { document } = new Window();
for (const html of ['<ul><li><p>a<li>b</ul>', '<a href=/docs/>c</a>', '<textarea><b>d</b></textarea>']) {
  document.body.innerHTML = html;
  console.log('happy-dom', document.body.innerHTML, document.querySelectorAll('ul > li').length, document.querySelectorAll('b').length);
  console.log('parse5', serialize(parseFragment(html)));
}
SCRIPT
output=$(node parse.js)
echo "$output"
grep -qxF 'parse5 <ul><li><p>a</p></li><li>b</li></ul>' <<<"$output"
grep -qxF 'parse5 <a href="/docs/">c</a>' <<<"$output"
grep -qxF 'parse5 <textarea>&lt;b&gt;d&lt;/b&gt;</textarea>' <<<"$output"
grep -qxF 'happy-dom <ul><li><p>a<li>b</li></p></li></ul> 1 0' <<<"$output"
grep -qxF 'happy-dom <a href="/docs">c</a> 0 0' <<<"$output"
grep -qxF 'happy-dom <textarea><b>d</b></textarea> 0 1' <<<"$output"
echo 'as described'
