#!/usr/bin/env bash
# Chromium 153 (@sparticuz/chromium 153.0.0) with puppeteer-core 25.16.0 (Node.js): a viewport of 800 by 600 CSS pixels is captured, and the
# same area with `clip`.
# Expected: the page notices neither.
# Seen: with `clip`, the media query `(max-width: 1px)` fires `change`: the viewport is one CSS pixel wide for a moment, in which a page can lay
# itself out for a telephone and measure its rows. Without `clip`, it does not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund puppeteer-core@25.16.0 @sparticuz/chromium@153.0.0
cat > capture.js <<'SCRIPT'
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';
const PAGE = `<!doctype html><style>*{margin:0}</style><div style="height:9000px"></div><script>
let changes = 0;
matchMedia('(max-width: 1px)').onchange = () => changes++;
</script>`;
const args = ['--no-sandbox', '--disable-gpu'];
const browser = await puppeteer.launch({ executablePath: await chromium.executablePath(), args, headless: 'shell' });
const page = await browser.newPage();
await page.setViewport({ width: 800, height: 600 });
await page.setContent(PAGE);
const capture = async (name, options) => {
  for (let count = 0; count < 5; count++) await page.screenshot(options);
  await new Promise((resolve) => setTimeout(resolve, 500));
  console.log(name, await page.evaluate(() => changes > 0));
};
await capture('window', {});
await capture('clip', { clip: { x: 0, y: 0, width: 800, height: 600 } });
await browser.close();
SCRIPT
output=$(node capture.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
window false
clip true
SCRIPT
echo 'as described'
