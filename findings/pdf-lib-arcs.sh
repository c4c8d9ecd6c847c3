#!/usr/bin/env bash
# pdf-lib 1.17.1 and parse-svg-path 0.2.0 (Node.js): SVG paths in which the flags of an arc stand without a space, as the grammar of SVG
# allows and heroicons 1.0.6 has them: `a7 7 0 11-14 0` is `a7 7 0 1 1 -14 0`.
# Expected: both paths draw the same, as with pdfkit 0.20.2.
# Seen: pdf-lib reads the flags and the number after them as one number, without an error, so that another curve stands for the circle
# of the magnifying glass. parse-svg-path refuses the path.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund pdf-lib@1.17.1 parse-svg-path@0.2.0 pdfkit@0.20.2 heroicons@1.0.6
cat > draw.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import parse from 'parse-svg-path';
import { PDFDocument } from 'pdf-lib';
import Kit from 'pdfkit';
const [, joined] = readFileSync('node_modules/heroicons/outline/search.svg', 'utf8').match(/ d="([^"]+)"/);
const spaced = joined.replace(/7 7 0 ([01])([01])/g, '7 7 0 $1 $2 ');
console.log('joined', joined);
console.log('spaced', spaced);
for (const [name, path] of Object.entries({ joined, spaced })) {
  const page = (await PDFDocument.create()).addPage();
  page.drawSvgPath(path, { borderWidth: 1 });
  const operators = page.getContentStream().operators.map(String);
  console.log('pdf-lib', name, operators.filter((it) => it.endsWith(' c')).length, 'curves');
  const document = new Kit({ compress: false });
  document.path(path).stroke().end();
  const text = Buffer.concat(await Array.fromAsync(document)).toString('latin1');
  console.log('pdfkit', name, text.match(/ c\n/g).length, 'curves');
  try {
    console.log('parse-svg-path', name, parse(path).length, 'commands');
  } catch (error) {
    console.log('parse-svg-path', name, error.message);
  }
}
SCRIPT
output=$(node draw.js)
echo "$output"
for name in joined spaced; do
  grep -qxF "pdfkit $name 4 curves" <<<"$output"
done
grep -qxF 'pdf-lib joined 1 curves' <<<"$output"
grep -qxF 'pdf-lib spaced 4 curves' <<<"$output"
grep -qxF 'parse-svg-path joined malformed path data' <<<"$output"
grep -qxF 'parse-svg-path spaced 6 commands' <<<"$output"
echo 'as described'
