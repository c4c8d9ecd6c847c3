#!/usr/bin/env bash
# turndown 7.2.5 (Node.js): a page with a declarative shadow root (`<template shadowrootmode="open">`, in the HTML standard), with which
# servers send the content of web components.
# Expected: the text of the shadow root, which browsers show, as html-to-text 10.0.1 and cheerio 1.2.0 give it.
# Seen: only what is outside of it, so that the page has no price, without a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund turndown@7.2.5 html-to-text@10.0.1 cheerio@1.2.0
cat > texts.js <<'SCRIPT'
import { load } from 'cheerio';
import { convert } from 'html-to-text';
import Turndown from 'turndown';
const PAGE =
  '<body><product-card><template shadowrootmode="open"><p>Price: 1,299 EUR</p><slot></slot></template><p>In stock</p></product-card></body>';
console.log('turndown', JSON.stringify(new Turndown().turndown(PAGE)));
console.log('html-to-text', JSON.stringify(convert(PAGE)));
console.log('cheerio', JSON.stringify(load(PAGE)('body').text()));
SCRIPT
output=$(node texts.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
turndown "In stock"
html-to-text "Price: 1,299 EUR\n\nIn stock"
cheerio "Price: 1,299 EURIn stock"
LINES
echo 'as described'
