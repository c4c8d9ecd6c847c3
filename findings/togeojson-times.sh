#!/usr/bin/env bash
# @tmcw/togeojson 7.1.3 (Node.js): a GPX track with a point that has a name and no time, which are both optional.
# Expected: the times of the points, with null for that one, as the values of extensions, such as the heart rate, have null.
# Seen: the times are one fewer than the points, so that all after it are those of the point before. The track has no name, but gets that
# of the point.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @tmcw/togeojson@7.1.3 @xmldom/xmldom@0.9.12
cat > track.js <<'SCRIPT'
import { gpx } from '@tmcw/togeojson';
import { DOMParser } from '@xmldom/xmldom';
const heart = (rate) => `<extensions><gpxtpx:hr>${rate}</gpxtpx:hr></extensions>`;
const namespaces = 'xmlns="http://www.topografix.com/GPX/1/1" xmlns:gpxtpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v1"';
const text = `<gpx ${namespaces} version="1.1" creator="example"><trk><trkseg>
  <trkpt lat="1" lon="1"><time>2026-11-28T10:00:00Z</time>${heart(90)}</trkpt>
  <trkpt lat="2" lon="1"><name>Bridge</name></trkpt>
  <trkpt lat="3" lon="1"><time>2026-11-28T10:02:00Z</time>${heart(99)}</trkpt>
</trkseg></trk></gpx>`;
const [track] = gpx(new DOMParser().parseFromString(text, 'text/xml')).features;
const { times, heart: rates } = track.properties.coordinateProperties;
console.log('points', track.geometry.coordinates.length, 'times', times.length, times[1], 'heart rates', JSON.stringify(rates));
console.log('name', track.properties.name);
SCRIPT
output=$(node track.js)
echo "$output"
grep -qxF 'points 3 times 2 2026-11-28T10:02:00Z heart rates [90,null,99]' <<<"$output"
grep -qxF 'name Bridge' <<<"$output"
echo 'as described'
