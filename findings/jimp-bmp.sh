#!/usr/bin/env bash
# jimp 1.6.1 (with bmp-ts 1.0.9): BMP files that Windows has written since version 3.
# Expected: white stays white in 16-bit files, and a run-length encoded file has its picture or is refused.
# Seen: the channels of 16-bit files are shifted, not scaled, so that white is #f8f8f8 (#f8fcf8 with 6 bits of green); a valid
# file with 8-bit run-length encoding (BI_RLE8) keeps one pixel of the first run, and the rest is black, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund jimp@1.6.1 bmp-ts@1.0.9
cat > read.js <<'SCRIPT'
import { Jimp } from 'jimp';

/** A picture of 2 x 2 pixels with a header of 40 bytes. */
function bmp(bits, compression, table, data) {
  const file = Buffer.alloc(54 + table.length + data.length);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54 + table.length, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(2, 18);
  file.writeInt32LE(2, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(bits, 28);
  file.writeUInt32LE(compression, 30);
  file.writeUInt32LE(data.length, 34);
  if (bits === 8) file.writeUInt32LE(table.length / 4, 46);
  Buffer.from(table).copy(file, 54);
  Buffer.from(data).copy(file, 54 + table.length);
  return file;
}

const white555 = new Array(4).fill([0xff, 0x7f]).flat();
const masks565 = [0x00, 0xf8, 0, 0, 0xe0, 0x07, 0, 0, 0x1f, 0, 0, 0];
const palette = [0, 0, 255, 0, 0, 255, 0, 0]; // red, green
// A row of two green pixels, the end of the line, a row of two red ones, the end of the picture.
const runs = [2, 1, 0, 0, 2, 0, 0, 1];
const files = {
  '5-5-5': bmp(16, 0, [], white555),
  '5-6-5': bmp(16, 3, masks565, new Array(8).fill(0xff)),
  'run-length': bmp(8, 1, palette, runs),
};
for (const [name, file] of Object.entries(files)) {
  const { data } = (await Jimp.fromBuffer(file)).bitmap;
  console.log(name, ...[0, 4, 8, 12].map((at) => data.subarray(at, at + 4).toString('hex')));
}
SCRIPT
output=$(node read.js)
echo "$output"
grep -qx '5-5-5 f8f8f8ff f8f8f8ff f8f8f8ff f8f8f8ff' <<<"$output"
grep -qx '5-6-5 f8fcf8ff f8fcf8ff f8fcf8ff f8fcf8ff' <<<"$output"
grep -qx 'run-length 000000ff 000000ff 00ff00ff 000000ff' <<<"$output"
echo 'as described'
