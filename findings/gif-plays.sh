#!/usr/bin/env bash
# Pillow 13.0.0 (Python) and sharp 0.35.5 (Node.js): animated GIF files that play once and four times, saved as WebP and APNG.
# Expected: as many plays. A GIF without a loop extension plays once; one with the count 3 repeats three times, so it plays four times,
# while the counts of WebP and APNG are plays and 0 is without end.
# Seen: both animations are saved by Pillow as WebP files without end. As APNG, the one that plays once is without end and the one with four
# plays has three. sharp keeps 1 and 4.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund sharp@0.35.5 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet Pillow==13.0.0
cat > save.py <<'SCRIPT'
from PIL import Image
frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
frames[0].save("once.gif", save_all=True, append_images=frames[1:])
frames[0].save("four.gif", save_all=True, append_images=frames[1:], loop=3)
for name in "once", "four":
    with Image.open(f"{name}.gif") as gif:
        gif.save(f"{name}.webp", save_all=True)
        gif.save(f"{name}.png", save_all=True)
    data = open(f"{name}.png", "rb").read()
    start = data.index(b"acTL") + 8
    print("Pillow", name, "APNG", int.from_bytes(data[start:start + 4], "big"))
    data = open(f"{name}.webp", "rb").read()
    start = data.index(b"ANIM") + 12
    print("Pillow", name, "WebP", int.from_bytes(data[start:start + 2], "little"))
SCRIPT
cat > save.js <<'SCRIPT'
import sharp from 'sharp';
for (const name of ['once', 'four']) {
  const webp = await sharp(`${name}.gif`, { animated: true }).webp().toBuffer();
  console.log('sharp', name, 'WebP', webp.readUInt16LE(webp.indexOf('ANIM') + 12));
}
SCRIPT
output=$(venv/bin/python save.py && node_modules/.bin/node save.js)
echo "$output"
for line in 'Pillow once WebP 0' 'Pillow four WebP 0' 'Pillow once APNG 0' 'Pillow four APNG 3'; do grep -qx "$line" <<<"$output"; done
grep -qx 'sharp four WebP 4' <<<"$output"
grep -qx 'sharp once WebP 1' <<<"$output"
echo 'as described'
