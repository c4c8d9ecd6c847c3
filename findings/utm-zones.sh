#!/usr/bin/env bash
# utm-latlng 1.0.8 (Node.js): UTM coordinates of Copenhagen (55.676° N, 12.568° E) and Helsingborg in Sweden (56.046° N, 12.694° E).
# Expected: zone 33, since it begins at 12° E, and only Norway's south-west (32V) and Svalbard are exceptions. So does utm 1.1.1
# (Node.js).
# Seen: zone 32 between 8° and 13° E and 54.5° and 58° N, an exception that UTM does not have, so that the easting is more than 370 km
# off, without a word about it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund utm-latlng@1.0.8 utm@1.1.1
cat > convert.js <<'SCRIPT'
import utm from 'utm';
import UtmLatLng from 'utm-latlng';
const PLACES = { Copenhagen: [55.676, 12.568], Helsingborg: [56.046, 12.694], Vienna: [48.208, 16.372] };
for (const [place, [latitude, longitude]] of Object.entries(PLACES)) {
  const other = new UtmLatLng().convertLatLngToUtm(latitude, longitude, 0);
  const { zoneNum, zoneLetter, easting } = utm.fromLatLon(latitude, longitude);
  console.log(place, `${other.ZoneNumber}${other.ZoneLetter}`, other.Easting, `${zoneNum}${zoneLetter}`, Math.round(easting));
}
SCRIPT
output=$(node convert.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
Copenhagen 32U 724334 33U 347072
Helsingborg 32V 730053 33V 356365
Vienna 33U 601932 33U 601932
LINES
echo 'as described'
