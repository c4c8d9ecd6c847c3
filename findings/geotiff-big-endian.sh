#!/usr/bin/env bash
# geotiff 3.0.5 (Node.js): a TIFF file in big-endian order with 16-bit samples, compressed with the horizontal predictor (TIFF 6.0,
# section 14), as tifffile 2026.3.3 writes it.
# Expected: the values that were written, as from the same file in little-endian order and from Pillow 13.0.0.
# Seen: elevations of 0, 100, 200, 300 and 400 m are read as 0, 100, 200, 44 and 144 m, without an error. The sums lose
# what goes beyond the lower byte, as if the differences were added in the order of bytes of the machine.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund geotiff@3.0.5
python3 -m venv venv
venv/bin/pip install --quiet tifffile==2026.3.3 numpy==2.4.6 pillow==13.0.0 imagecodecs==2026.3.6
cat > write.py <<'SCRIPT'
import numpy, tifffile
from PIL import Image
elevations = numpy.arange(0, 500, 100, dtype=numpy.uint16).reshape(1, 5)
for name, order in (("little", "<"), ("big", ">")):
    tifffile.imwrite(f"{name}.tif", elevations, byteorder=order, compression="zlib", predictor=2, photometric="minisblack")
    print("Pillow", name, *numpy.asarray(Image.open(f"{name}.tif"))[0])
SCRIPT
cat > read.js <<'SCRIPT'
import { fromFile } from 'geotiff';
for (const name of ['little', 'big']) {
  const image = await (await fromFile(`${name}.tif`)).getImage();
  const [values] = await image.readRasters();
  console.log('geotiff', name, ...values);
}
SCRIPT
output=$(venv/bin/python write.py && node read.js)
echo "$output"
for reader in 'Pillow little' 'Pillow big' 'geotiff little'; do
  grep -qxF "$reader 0 100 200 300 400" <<<"$output"
done
grep -qxF 'geotiff big 0 100 200 44 144' <<<"$output"
echo 'as described'
