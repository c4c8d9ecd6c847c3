#!/usr/bin/env bash
# cheerio 1.2.0 (Node.js): selectors for the elements and attributes of SVG in a page that have a capital letter, such as `linearGradient`,
# `clipPath`, `foreignObject` and `viewBox`.
# Expected: found under these names, as in browsers and jsdom, or in lower case, since the page is HTML.
# Seen: under neither. cheerio keeps the capitals in the tree, as HTML says, and its selectors put the names in lower case, so that no selector
# by name matches, also in `find`, `children` and `is`. `attr('viewBox')` and `svg > *` find them, and so do all selectors if the
# page is read as XML.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund cheerio@1.2.0 jsdom@26.1.0
cat > find.js <<'SCRIPT'
import { load } from 'cheerio';
import { JSDOM } from 'jsdom';
const svg = '<svg viewBox="0 0 1 1"><linearGradient></linearGradient><clipPath></clipPath><foreignObject></foreignObject></svg>';
const [html, xml] = [load(svg), load(svg, { xml: true })];
const { document } = new JSDOM(svg).window;
const NAMES = ['linearGradient', 'clipPath', 'foreignObject', '[viewBox]'];
const SELECTORS = [...NAMES, ...NAMES.map((it) => it.toLowerCase()), 'svg', 'svg > *'];
for (const it of SELECTORS) console.log(it, '=', html(it).length, xml(it).length, document.querySelectorAll(it).length);
const first = html('svg').children().first();
console.log(first.prop('localName') ?? first[0].name, first.is('linearGradient'), html('svg').attr('viewBox'));
SCRIPT
output=$(node find.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
linearGradient = 0 1 1
clipPath = 0 1 1
foreignObject = 0 1 1
[viewBox] = 0 1 1
lineargradient = 0 0 0
clippath = 0 0 0
foreignobject = 0 0 0
[viewbox] = 0 0 0
svg = 1 1 1
svg > * = 3 3 3
linearGradient false 0 0 1 1
SCRIPT
echo 'as described'
