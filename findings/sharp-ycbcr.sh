#!/usr/bin/env bash
# sharp 0.35.5 (Node.js): a TIFF file in the colours YCbCr without compression or with LZW, as Pillow 13.0.0 saves a picture of mode
# YCbCr (TIFF 6.0, section 21, without subsampling).
# Expected: the colours, as Pillow reads them and as sharp reads the same file compressed as JPEG.
# Seen: luma and chroma are taken for red, green and blue, without an error: white becomes pink (255 128 128) and red becomes blue
# (76 84 255).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund sharp@0.35.5
python3 -m venv venv
venv/bin/pip install --quiet pillow==13.0.0
cat > colours.py <<'SCRIPT'
from PIL import Image
for colour in ("red", "white"):
    for compression in ("raw", "tiff_lzw", "jpeg"):
        name = f"{colour}-{compression}.tif"
        Image.new("RGB", (16, 16), colour).convert("YCbCr").save(name, compression=compression)
        print("Pillow", colour, compression, Image.open(name).convert("RGB").getpixel((8, 8)))
SCRIPT
cat > colours.js <<'SCRIPT'
import sharp from 'sharp';
for (const colour of ['red', 'white'])
  for (const compression of ['raw', 'tiff_lzw', 'jpeg']) {
    const { data, info } = await sharp(`${colour}-${compression}.tif`).raw().toBuffer({ resolveWithObject: true });
    console.log('sharp', colour, compression, ...data.subarray(0, info.channels));
  }
SCRIPT
output=$(venv/bin/python colours.py && node colours.js)
echo "$output"
for colour in 'red raw 76 84 255' 'red tiff_lzw 76 84 255' 'red jpeg 254 0 0' 'white raw 255 128 128' 'white jpeg 255 255 255'; do
  grep -qxF "sharp $colour" <<<"$output"
done
grep -qxF 'Pillow red raw (254, 0, 0)' <<<"$output"
grep -qxF 'Pillow white raw (255, 255, 255)' <<<"$output"
echo 'as described'
