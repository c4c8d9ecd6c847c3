#!/usr/bin/env bash
# image-size 2.1.0 and probe-image-size 7.5.0 (Node.js): the size of HEIC files that pillow-heif 1.8.1 (Python) writes, of a bitmap file with
# the header of OS/2, as ImageMagick writes them as BMP2, and of an SVG file with commas in its viewBox.
# Expected: 300 x 200, and 301 x 201 for a file that has an odd size.
# Seen: image-size says 299 for a HEIC file with a thumbnail: it takes a denominator in the clean aperture (`clap`) of the thumbnail for
# the part to cut off the picture. It gives the bitmap a width of 13,107,500, and the SVG file none. Of 301 x 201, which is stored as
# 302 x 202 with a clean aperture, image-size makes 301 x 202 and probe-image-size 302 x 202; the rest is right there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund image-size@2.1.0 probe-image-size@7.5.0
python3 -m venv venv
venv/bin/pip install --quiet pillow-heif==1.8.1 pillow==13.0.0
cat > write.py <<'SCRIPT'
import struct
import pillow_heif
from PIL import Image
picture = Image.linear_gradient("L").convert("RGB")
for name, size, thumbnails in (("plain", (300, 200), []), ("thumbnail", (300, 200), [64]), ("odd", (301, 201), [])):
    pillow_heif.from_pillow(picture.resize(size)).save(f"{name}.heic", thumbnails=thumbnails)
    print("Pillow", f"{name}.heic", *pillow_heif.open_heif(f"{name}.heic").size)
pixels = bytes(300 * 3) * 200
with open("os2.bmp", "wb") as file:
    file.write(b"BM" + struct.pack("<IHHI", 26 + len(pixels), 0, 0, 26) + struct.pack("<IHHHH", 12, 300, 200, 1, 24) + pixels)
print("Pillow", "os2.bmp", *Image.open("os2.bmp").size)
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync, writeFileSync } from 'node:fs';
import { imageSize } from 'image-size';
import probe from 'probe-image-size';
writeFileSync('commas.svg', '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0,0,300,200"/>');
for (const file of ['plain.heic', 'thumbnail.heic', 'odd.heic', 'os2.bmp', 'commas.svg']) {
  for (const [name, read] of [['image-size', imageSize], ['probe-image-size', probe.sync]]) {
    const { width, height } = read(readFileSync(file));
    console.log(name, file, width, height);
  }
}
SCRIPT
output=$(venv/bin/python write.py && node read.js)
echo "$output"
for file in plain.heic thumbnail.heic os2.bmp; do
  grep -qxF "Pillow $file 300 200" <<<"$output"
  grep -qxF "probe-image-size $file 300 200" <<<"$output"
done
grep -qxF 'Pillow odd.heic 301 201' <<<"$output"
grep -qxF 'probe-image-size odd.heic 302 202' <<<"$output"
grep -qxF 'probe-image-size commas.svg 300 200' <<<"$output"
grep -qxF 'image-size plain.heic 300 200' <<<"$output"
grep -qxF 'image-size thumbnail.heic 299 200' <<<"$output"
grep -qxF 'image-size odd.heic 301 202' <<<"$output"
grep -qxF 'image-size os2.bmp 13107500 1572865' <<<"$output"
grep -qxF 'image-size commas.svg undefined undefined' <<<"$output"
echo 'as described'
