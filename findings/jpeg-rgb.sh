#!/usr/bin/env bash
# jpeg-js 0.4.4, jimp 1.6.1 and image-js 1.7.0 (Node.js): a JPEG file whose components are red, green and blue, as Pillow writes it with
# `keep_rgb=True`, cjpeg with `-rgb`, and scanners of slides in TIFF files.
# Expected: the colour (200, 30, 60), as in Pillow and in Go's image/jpeg. The file says twice that it is not YCbCr: in Adobe's segment
# (transform 0) and in the names of the components (R, G, B).
# Seen: (104, 255, 26): red becomes green. jpeg-js asks only for a transform that is not 0, and the others decode with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund jpeg-js@0.4.4 jimp@1.6.1 image-js@1.7.0
python3 -m venv venv
venv/bin/pip install --quiet pillow==13.0.0
cat > write.py <<'SCRIPT'
import PIL.Image
picture = PIL.Image.new("RGB", (32, 32), (200, 30, 60))
for name, keep in (("ycbcr", False), ("rgb", True)):
    picture.save(f"{name}.jpg", quality=95, keep_rgb=keep)
    print("pillow", name, *PIL.Image.open(f"{name}.jpg").getpixel((5, 5)))
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { decode } from 'image-js';
import { Jimp } from 'jimp';
import jpeg from 'jpeg-js';
for (const name of ['ycbcr', 'rgb']) {
  const bytes = readFileSync(`${name}.jpg`);
  console.log('jpeg-js', name, ...jpeg.decode(bytes).data.subarray(0, 3));
  console.log('jimp', name, ...(await Jimp.read(bytes)).bitmap.data.subarray(0, 3));
  console.log('image-js', name, ...decode(bytes).getPixel(5, 5).slice(0, 3));
}
SCRIPT
output=$(venv/bin/python write.py && node read.js)
echo "$output"
grep -qx 'pillow rgb 200 30 60' <<<"$output"
for name in jpeg-js jimp image-js; do
  grep -qx "$name ycbcr 200 29 59" <<<"$output"
  grep -qx "$name rgb 104 255 26" <<<"$output"
done
echo 'as described'
