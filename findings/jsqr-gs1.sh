#!/usr/bin/env bash
# jsqr 1.4.0: GS1 QR codes, which hold the number, batch and date of a product, written by bwip-js 4.11.4.
# Expected: the field of variable length ends with the character GS (U+001D), as with zxing-cpp 3.1.1 (Python).
# Seen: `%` in the place of GS and `%%` in the place of `%`, the encoding within the code (ISO/IEC 18004, mode FNC1). As jsQR does
# not tell that the code is a GS1 one, a program cannot know whether `%` separates two fields.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund jsqr@1.4.0 bwip-js@4.11.4 pngjs@7.0.0
python3 -m venv venv
venv/bin/pip install --quiet zxing-cpp==3.1.1 pillow==13.0.0
cat > read.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import bwipjs from 'bwip-js';
import jsqr from 'jsqr';
import { PNG } from 'pngjs';
// The number of the product, a batch "50%OFF" and the date of expiry.
const text = '(01)09521234543213(10)50%OFF(17)271231';
const png = await bwipjs.toBuffer({ bcid: 'gs1qrcode', text, scale: 4, padding: 20, backgroundcolor: 'FFFFFF' });
writeFileSync('code.png', png);
const { data, width, height } = PNG.sync.read(png);
const code = (jsqr.default ?? jsqr)(new Uint8ClampedArray(data), width, height);
console.log('jsqr', JSON.stringify(code.data), Object.keys(code).join());
SCRIPT
cat > read.py <<'SCRIPT'
import json
import zxingcpp
from PIL import Image
code = zxingcpp.read_barcode(Image.open("code.png").convert("L"))
print("zxing", json.dumps(code.bytes.decode()), code.content_type.name, code.text)
SCRIPT
output=$(node read.js && venv/bin/python read.py)
echo "$output"
grep -qxF 'jsqr "01095212345432131050%%OFF%17271231" binaryData,data,chunks,version,location' <<<"$output"
grep -qxF 'zxing "01095212345432131050%OFF\u001d17271231" GS1 (01)09521234543213(10)50%OFF(17)271231' <<<"$output"
echo 'as described'
