#!/usr/bin/env bash
# shapefile 0.6.6 and shpjs 6.2.0 (Node.js): fields of the type date in a shapefile that pyshp 3.1.6 wrote, read in Vienna and turned
# into GeoJSON.
# Expected: 2026-11-28, since such a field is a day without a time or zone.
# Seen: both make it midnight of the zone of the computer, so that GeoJSON has 2026-11-27T23:00:00.000Z, the day before, in all zones
# east of Greenwich.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund shapefile@0.6.6 shpjs@6.2.0
python3 -m venv venv
venv/bin/pip install --quiet pyshp==3.1.6
cat > write.py <<'SCRIPT'
import datetime, shapefile
with shapefile.Writer("places") as writer:
    writer.field("DAY", "D")
    writer.point(16.37, 48.2)
    writer.record(datetime.date(2026, 11, 28))
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { read } from 'shapefile';
import shp from 'shpjs';
const [shapes, records] = ['shp', 'dbf'].map((name) => readFileSync(`places.${name}`));
console.log('shapefile', JSON.stringify((await read(shapes, records)).features[0].properties));
console.log('shpjs', JSON.stringify((await shp({ shp: shapes, dbf: records })).features[0].properties));
SCRIPT
venv/bin/python write.py
output=$(TZ=Europe/Vienna node read.js && TZ=America/New_York node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
shapefile {"DAY":"2026-11-27T23:00:00.000Z"}
shpjs {"DAY":"2026-11-27T23:00:00.000Z"}
shapefile {"DAY":"2026-11-28T05:00:00.000Z"}
shpjs {"DAY":"2026-11-28T05:00:00.000Z"}
LINES
echo 'as described'
