#!/usr/bin/env bash
# opentype.js 2.0.0 (Node.js): the width of a text in Inter, a font of many sites, from @fontsource/inter 5.3.0 (npm).
# Expected: a number, as from fontkit 2.0.4.
# Seen: the call throws for each word, "lookupType: 6 - substFormat: 2 is not yet supported", because the font has contextual alternates
# in that format, whether the word needs them or not. Single letters have their width.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund opentype.js@2.0.0 fontkit@2.0.4 @fontsource/inter@5.3.0
cat > width.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import * as fontkit from 'fontkit';
import opentype from 'opentype.js';
const data = readFileSync('node_modules/@fontsource/inter/files/inter-latin-400-normal.woff');
const opened = fontkit.create(data);
const font = opentype.parse(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
for (const text of ['I', 'Hamburg']) {
  console.log('fontkit', text, opened.layout(text).advanceWidth / opened.unitsPerEm);
  try {
    console.log('opentype.js', text, font.getAdvanceWidth(text, 1));
  } catch (error) {
    console.log('opentype.js', text, error.message);
  }
}
SCRIPT
output=$(node width.js)
echo "$output"
for text in I Hamburg; do
  grep -qE "^fontkit $text [0-9.]+$" <<<"$output"
done
grep -qxF 'opentype.js I 0.2685546875' <<<"$output"
grep -qxF 'opentype.js Hamburg substitutionType : 62 lookupType: 6 - substFormat: 2 is not yet supported' <<<"$output"
echo 'as described'
