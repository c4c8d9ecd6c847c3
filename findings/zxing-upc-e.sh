#!/usr/bin/env bash
# @zxing/library 0.23.0 (Node.js): the barcodes EAN-13, UPC-A, EAN-8 and UPC-E, drawn by bwip-js 4.11.4 and read by zxing-cpp 3.1.1 (Python), too.
# Expected: it reads the formats that it has in BarcodeFormat, as zxing-cpp does.
# Seen: it reads no UPC-E, the short form on small packages in North America, even if only this format is asked for. The reader appends the
# digits to a string, which is immutable in JavaScript, so that its caller gets none. zxing-cpp gives the long form of the number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @zxing/library@0.23.0 bwip-js@4.11.4
python3 -m venv venv
venv/bin/pip install --quiet zxing-cpp==3.1.1 pillow==13.0.0
cat > read.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import zxing from '@zxing/library';
import bwipjs from 'bwip-js/node';
const { BarcodeFormat, BinaryBitmap, DecodeHintType, HybridBinarizer, MultiFormatReader, RGBLuminanceSource } = zxing;
const codes = { EAN_13: '9521234543213', UPC_A: '012345678905', EAN_8: '96385074', UPC_E: '04252614' };
for (const [format, text] of Object.entries(codes)) {
  const bars = bwipjs.raw({ bcid: format.replace('_', '').toLowerCase(), text })[0].sbs;
  const row = [0, ...bars, 0].flatMap((width, at) => new Array(at === 0 || at > bars.length ? 80 : width * 4).fill(at % 2 ? 0 : 255));
  const pixels = Uint8ClampedArray.from(new Array(100).fill(row).flat());
  writeFileSync(`${format}.pgm`, Buffer.concat([Buffer.from(`P5 ${row.length} 100 255\n`), Buffer.from(pixels)]));
  const bitmap = new BinaryBitmap(new HybridBinarizer(new RGBLuminanceSource(pixels, row.length, 100)));
  const hints = new Map([[DecodeHintType.TRY_HARDER, true], [DecodeHintType.POSSIBLE_FORMATS, [BarcodeFormat[format]]]]);
  try {
    console.log('node', format, new MultiFormatReader().decode(bitmap, hints).getText());
  } catch (error) {
    console.log('node', format, error.constructor.name);
  }
}
SCRIPT
cat > read.py <<'SCRIPT'
import PIL.Image, zxingcpp
for name in ("EAN_13", "UPC_A", "EAN_8", "UPC_E"):
    print("python", name, *(it.text for it in zxingcpp.read_barcodes(PIL.Image.open(f"{name}.pgm"))))
SCRIPT
output=$(node read.js 2>/dev/null && venv/bin/python read.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
node EAN_13 9521234543213
node UPC_A 012345678905
node EAN_8 96385074
node UPC_E NotFoundException
python EAN_13 9521234543213
python UPC_A 0012345678905
python EAN_8 96385074
python UPC_E 0042100005264
SCRIPT
echo 'as described'
