#!/usr/bin/env bash
# image-js 1.7.0 with tiff 7.1.3, and utif2 4.1.0 (Node.js): TIFF files of tifffile 2026.3.3 (Python) in tiles, as GeoTIFF files and scanners
# of slides have them, and one of floats with a predictor.
# Expected: the pixels that were written, or an error.
# Seen: image-js decodes the tiles of a colour picture as if they had one sample per pixel: white becomes red, without an error. In grey it is
# right. utif2 decodes both, but makes a picture of floats with the predictor 3 black, where image-js throws.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund image-js@1.7.0 utif2@4.1.0
python3 -m venv venv
venv/bin/pip install --quiet tifffile==2026.3.3 imagecodecs==2026.3.6 numpy==2.4.6
cat > write.py <<'SCRIPT'
import numpy, tifffile
white = numpy.full((32, 32, 3), 255, "u1")
tifffile.imwrite("strips.tif", white, photometric="rgb")
tifffile.imwrite("tiles.tif", white, photometric="rgb", tile=(16, 16))
tifffile.imwrite("grey.tif", white[:, :, 0].copy(), photometric="minisblack", tile=(16, 16))
floats = numpy.full((32, 32), 1, "f4")
tifffile.imwrite("floats.tif", floats, photometric="minisblack", compression="deflate")
tifffile.imwrite("predictor.tif", floats, photometric="minisblack", compression="deflate", predictor=3)
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { decode } from 'image-js';
import UTIF from 'utif2';
for (const name of ['strips', 'tiles', 'grey', 'floats', 'predictor']) {
  const file = readFileSync(`${name}.tif`);
  let pixel;
  try {
    pixel = decode(file).getPixel(0, 0).join();
  } catch (error) {
    pixel = error.message;
  }
  const [page] = UTIF.decode(file);
  UTIF.decodeImage(file, page);
  console.log(`${name}: image-js ${pixel}, utif2 ${UTIF.toRGBA8(page).slice(0, 3).join()}`);
}
SCRIPT
venv/bin/python write.py
output=$(node read.js)
echo "$output"
grep -qxF 'strips: image-js 255,255,255, utif2 255,255,255' <<<"$output"
grep -qxF 'tiles: image-js 255,0,0, utif2 255,255,255' <<<"$output"
grep -qxF 'grey: image-js 255, utif2 255,255,255' <<<"$output"
grep -qxF 'floats: image-js Float TIFF data is not supported., utif2 255,255,255' <<<"$output"
grep -qxF 'predictor: image-js invalid predictor: 3, utif2 0,0,0' <<<"$output"
echo 'as described'
