#!/usr/bin/env bash
# svgo 4.1.0 (Node.js), by default: an icon whose style sheet has colours for dark mode or for the pointer.
# Expected: the colours stay, as an optimizer must not change the picture.
# Seen: if one element has the class or id, the rule outside of the media query becomes its `style`, the class goes, and with it the rules for
# dark mode and `:hover`. A media query nested in the rule becomes the only colour: white also in light mode. With two elements of the class,
# and for rules by the name of the element, the media query stays, but the `style` of the element now wins over it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund svgo@4.1.0
cat > optimize.js <<'SCRIPT'
import { optimize } from 'svgo';
const DARK = '@media (prefers-color-scheme:dark)';
const ONE = '<path class="a" id="b" d="M0 0h9v9z"/>';
const STYLES = {
  class: [`.a{fill:#000}${DARK}{.a{fill:#fff}}`, ONE],
  id: [`#b{fill:#000}${DARK}{#b{fill:#fff}}`, ONE],
  hover: ['.a{fill:#000}.a:hover{fill:red}', ONE],
  nested: [`.a{fill:#000;${DARK}{fill:#fff}}`, ONE],
  element: [`path{fill:#000}${DARK}{path{fill:#fff}}`, ONE],
  two: [`.a{fill:#000}${DARK}{.a{fill:#fff}}`, ONE + ONE.replace('b', 'c').replace('9', '5')],
};
for (const [name, [style, paths]] of Object.entries(STYLES)) {
  const { data } = optimize(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><style>${style}</style>${paths}</svg>`);
  console.log(name, data.match(/<style>(.*)<\/style>/)?.[1] ?? '-', data.match(/ style="([^"]*)"/)?.[1] ?? '-');
}
SCRIPT
output=$(node optimize.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
class - fill:#000
id - fill:#000
hover - fill:#000
nested - fill:#fff
element @media (prefers-color-scheme:dark){path{fill:#fff}} fill:#000
two .a{fill:#000}@media (prefers-color-scheme:dark){.a{fill:#fff}} -
LINES
echo 'as described'
