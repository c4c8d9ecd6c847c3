#!/usr/bin/env bash
# Chromium 153 (@sparticuz/chromium 153.0.0) with puppeteer-core 25.16.0 (Node.js): `page.setJavaScriptEnabled(false)` on a page that has
# loaded, to keep its scripts from changing it while it is printed or captured.
# Expected: the page looks as before.
# Seen: style sheets take `@media (scripting: none)` at once, and the markup in a `noscript` element whose box is made anew, such as by another
# `display` of its parent, is shown as text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund puppeteer-core@25.16.0 @sparticuz/chromium@153.0.0
cat > print.js <<'SCRIPT'
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';
const PAGE = `<!doctype html><style>@media (scripting: none) { p { color: red } }</style><p>Text</p>
<div><noscript><img src="pixel.gif"></noscript></div>`;
const args = ['--no-sandbox', '--disable-gpu'];
const browser = await puppeteer.launch({ executablePath: await chromium.executablePath(), args, headless: 'shell' });
const page = await browser.newPage();
await page.setContent(PAGE);
const look = () =>
  page.evaluate(() => [
    getComputedStyle(document.querySelector('p')).color,
    matchMedia('(scripting: none)').matches,
    document.querySelector('div').offsetHeight > 0,
    document.querySelector('div').innerText.trim() || 'nothing',
  ]);
console.log('before', ...(await look()));
await page.setJavaScriptEnabled(false);
console.log('scripts off', ...(await look()));
await page.evaluate(() => { document.querySelector('div').style.display = 'flex'; });
console.log('laid out again', ...(await look()));
await browser.close();
SCRIPT
output=$(node print.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
before rgb(0, 0, 0) false false nothing
scripts off rgb(255, 0, 0) true false nothing
laid out again rgb(255, 0, 0) true true <img src="pixel.gif">
SCRIPT
echo 'as described'
