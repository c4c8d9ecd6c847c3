#!/usr/bin/env bash
# upng-js 2.1.0 and fast-png 8.0.0 (Node.js): PNG files with 1 bit a pixel, as segno 1.6.6 (Python) writes QR codes.
# Expected: the pixels, as pngjs 7.0.0 gives them.
# Seen: upng-js starts each row of a picture in greys before the last one has ended, if its pixels do not fill up the last byte, so that
# the code is slanted and unreadable. fast-png refuses the same picture in the interlaced form that pypng 0.20220715.0 (Python) writes, with
# "Unsupported filter".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund upng-js@2.1.0 fast-png@8.0.0 pngjs@7.0.0 jsqr@1.4.0
python3 -m venv venv
venv/bin/pip install --quiet segno==1.6.6 pypng==0.20220715.0
cat > write.py <<'SCRIPT'
import png, segno
segno.make("HTTPS://EXAMPLE.ORG/42").save("plain.png", scale=3)
width, height, rows, info = png.Reader(filename="plain.png").read()
with open("interlaced.png", "wb") as file:
    png.Writer(width, height, greyscale=True, bitdepth=1, interlace=True).write(file, rows)
print("segno", width, "x", height, "pixels of", info["bitdepth"], "bit, in greys:", info["greyscale"])
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { decode } from 'fast-png';
import scan from 'jsqr';
import { PNG } from 'pngjs';
import upng from 'upng-js';
for (const file of ['plain.png', 'interlaced.png']) {
  const data = readFileSync(file);
  const { width, height, data: pixels } = PNG.sync.read(data);
  console.log('pngjs', file, scan(new Uint8ClampedArray(pixels), width, height)?.data);
  const [frame] = upng.toRGBA8(upng.decode(data));
  console.log('upng-js', file, scan(new Uint8ClampedArray(frame), width, height)?.data);
  try {
    console.log('fast-png', file, decode(data).width);
  } catch (error) {
    console.log('fast-png', file, error.message.replace(/: \d+/, ''));
  }
}
SCRIPT
output=$(venv/bin/python write.py && node read.js)
echo "$output"
for file in plain interlaced; do
  grep -qxF "pngjs $file.png HTTPS://EXAMPLE.ORG/42" <<<"$output"
  grep -qxF "upng-js $file.png undefined" <<<"$output"
done
grep -qxF 'fast-png plain.png 87' <<<"$output"
grep -qxF 'fast-png interlaced.png Unsupported filter' <<<"$output"
echo 'as described'
