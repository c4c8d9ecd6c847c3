#!/usr/bin/env bash
# wellknown 0.5.0 (Node.js): WKT as Shapely 2.2.0 (Python, GEOS) writes it.
# Expected: the geometries as GeoJSON, as betterknown 1.2.0 (Node.js) gives them.
# Seen: a polygon of several parts with heights has no coordinates, without an error, and a collection with a multipoint in it is null.
# Multipoints with heights, and collections without multipoints, are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund wellknown@0.5.0 betterknown@1.2.0
python3 -m venv venv
venv/bin/pip install --quiet shapely==2.2.0
cat > write.py <<'SCRIPT'
from shapely import GeometryCollection, MultiPoint, MultiPolygon, Point, Polygon
area = Polygon([(0, 0, 5), (1, 0, 5), (1, 1, 5), (0, 0, 5)])
for shape in (MultiPolygon([area]), GeometryCollection([Point(5, 6), MultiPoint([(1, 2), (3, 4)])]), MultiPoint([(1, 2, 5)])):
    print(shape.wkt)
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { wktToGeoJSON } from 'betterknown';
import parse from 'wellknown';
for (const text of readFileSync('shapes.txt', 'utf8').trim().split('\n')) {
  console.log('wellknown', JSON.stringify(parse(text)));
  console.log('betterknown', JSON.stringify(wktToGeoJSON(text)));
}
SCRIPT
venv/bin/python write.py > shapes.txt
output=$(cat shapes.txt && node read.js)
echo "$output"
grep -qxF 'wellknown {"type":"MultiPolygon","coordinates":[]}' <<<"$output"
grep -qxF 'betterknown {"type":"MultiPolygon","coordinates":[[[[0,0,5],[1,0,5],[1,1,5],[0,0,5]]]]}' <<<"$output"
[ "$(grep -cxF 'wellknown null' <<<"$output")" -eq 1 ]
grep -qF 'betterknown {"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[5,6]}' <<<"$output"
grep -qxF 'wellknown {"type":"MultiPoint","coordinates":[[1,2,5]]}' <<<"$output"
echo 'as described'
