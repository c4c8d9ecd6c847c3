#!/usr/bin/env bash
# sharp 0.35.5 (libvips): reduction by a factor of 4 or more with a kernel.
# Expected: with kernel 'lanczos3' each pixel is the mean of its surroundings, weighted by a Lanczos kernel that is widened by the
# factor, as in Pillow; only rounding differs.
# Seen: so it is at factor 2. At factor 4 the image is first halved by averaging pairs of pixels, and only then reduced by Lanczos;
# details near the limit of the small image differ by up to 10 of 255 levels. Nothing in the documentation of `resize` says so, and no
# option switches it off (`fastShrinkOnLoad` is about the loaders of JPEG and WebP).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund sharp@0.35.5
cat > reduce.js <<'SCRIPT'
import sharp from 'sharp';

const [width, height] = [512, 64];
const sinc = (x) => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const kernel = (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0);

// Columns of random grey levels; rows are equal.
let state = 7;
const row = Uint8Array.from({ length: width }, () => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return 64 + ((state >> 16) % 128);
});
const data = Buffer.concat(Array.from({ length: height }, () => row));

for (const factor of [2, 4]) {
  const small = { width: width / factor, height: height / factor };
  const made = await sharp(data, { raw: { width, height, channels: 1 } })
    .resize({ ...small, kernel: 'lanczos3' })
    .extractChannel(0)
    .raw()
    .toBuffer();
  let worst = 0;
  // The first and last pixels depend on what lies beyond the edge.
  for (let x = 8; x < small.width - 8; x++) {
    const centre = (x + 0.5) * factor - 0.5;
    let [sum, total] = [0, 0];
    for (let at = Math.ceil(centre - 3 * factor); at <= centre + 3 * factor; at++) {
      const weight = kernel((at - centre) / factor);
      sum += weight * row[at];
      total += weight;
    }
    worst = Math.max(worst, Math.abs(sum / total - made[(small.height / 2) * small.width + x]));
  }
  console.log(`factor ${factor}: differs by ${worst < 1 ? 'less than 1 level' : worst > 5 ? 'more than 5 levels' : worst}`);
}
SCRIPT
output=$(node reduce.js)
echo "$output"
grep -qx 'factor 2: differs by less than 1 level' <<<"$output"
grep -qx 'factor 4: differs by more than 5 levels' <<<"$output"
echo 'as described'
