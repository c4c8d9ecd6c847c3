#!/usr/bin/env bash
# parse5 8.1.1, and cheerio 1.2.0, which uses it: a customizable select, whose options have pictures and other elements (HTML
# Standard, section 4.10.7, since July 2025; Chromium since version 135 and Safari 26 parse it so).
# Expected: the elements are in the tree, as in browsers.
# Seen: only `option` and the text are; the button, the pictures and the elements with names and classes are dropped, so that no
# selector finds them, and the names of two elements run together.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund parse5@8.1.1 cheerio@1.2.0
cat > read.js <<'SCRIPT'
import { load } from 'cheerio';
import { parse, serialize } from 'parse5';

const page = `<!doctype html><html lang="en"><head><title>Ports</title></head><body><select aria-label="Port"><button><selectedcontent></selectedcontent></button><option value="n"><img src="n.png" alt=""><span class="name">North</span><span class="depth">9 m</span></option></select></body></html>`;
console.log('parse5', /<select.*<\/select>/.exec(serialize(parse(page)))?.[0]);
const $ = load(page);
console.log('cheerio', $('option img').length, $('option .name').length, $('option').text());
SCRIPT
output=$(node read.js)
echo "$output"
grep -qxF 'parse5 <select aria-label="Port"><option value="n">North9 m</option></select>' <<<"$output"
grep -qxF 'cheerio 0 0 North9 m' <<<"$output"
echo 'as described'
