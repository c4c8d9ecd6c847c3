#!/usr/bin/env bash
# probe-image-size 7.5.0 (Node.js): AVIF files that Pillow 13.0.0 (Python) writes of pictures with each EXIF orientation, as cameras note it.
# Expected: the orientation of the picture, as for JPEG files, and as Pillow has it when it reads the file again.
# Seen: 6 and 8, the two turns by 90 degrees, are exchanged, so that pictures held upright are turned to stand on their heads. AVIF
# stores an angle anticlockwise (`irot`), which it takes for clockwise. The half turn and the mirrored ones are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund probe-image-size@7.5.0
python3 -m venv venv
venv/bin/pip install --quiet pillow==13.0.0
cat > write.py <<'SCRIPT'
from PIL import Image, ImageOps
picture = Image.new("RGB", (64, 32), "white")
picture.paste("black", (0, 0, 32, 16))
def corner(file):
    shown = ImageOps.exif_transpose(Image.open(file)).convert("L")
    for row, vertical in ((0, "top"), (shown.height - 1, "bottom")):
        for column, horizontal in ((0, "left"), (shown.width - 1, "right")):
            if shown.getpixel((column, row)) < 99:
                return f"{vertical}-{horizontal}"
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x112] = orientation
    for suffix in ("jpg", "avif"):
        picture.save(f"{orientation}.{suffix}", exif=exif)
    read = Image.open(f"{orientation}.avif").getexif().get(0x112, 1)
    print("Pillow", orientation, read, corner(f"{orientation}.jpg"), corner(f"{orientation}.avif"))
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import probe from 'probe-image-size';
for (let orientation = 1; orientation <= 8; orientation += 1) {
  const read = (suffix) => probe.sync(readFileSync(`${orientation}.${suffix}`)).orientation;
  console.log('probe-image-size', orientation, 'JPEG', read('jpg'), 'AVIF', read('avif'));
}
SCRIPT
output=$(venv/bin/python write.py && node read.js)
echo "$output"
for orientation in 1 2 3 4 5 6 7 8; do
  grep -qE "^Pillow $orientation $orientation (\S+) \1$" <<<"$output"
  grep -qE "^probe-image-size $orientation JPEG $orientation " <<<"$output"
done
for orientation in 2 3 4 5 7; do
  grep -qxF "probe-image-size $orientation JPEG $orientation AVIF $orientation" <<<"$output"
done
grep -qxF 'probe-image-size 6 JPEG 6 AVIF 8' <<<"$output"
grep -qxF 'probe-image-size 8 JPEG 8 AVIF 6' <<<"$output"
echo 'as described'
