#!/usr/bin/env bash
# Node.js 24.21.0 (npm package `node`), moment-timezone 0.6.6 (Node.js) and tzdata 2026.6 (Python): the time at noon UTC on 15 December
# 2026, in zones whose rules were changed in 2026.
# Expected: the same times, since Node.js brings its own zones with ICU and this release came after the changes.
# Seen: Node.js has the zones of 2026c, moment-timezone and tzdata those of 2026f. In Node.js, and so in all that asks `Intl`, Winnipeg,
# Havana and Inuvik are an hour behind.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0 moment-timezone@0.6.6
python3 -m venv venv
venv/bin/pip install --quiet tzdata==2026.6
cat > noon.js <<'SCRIPT'
import moment from 'moment-timezone';
const noon = new Date('2026-12-15T12:00:00Z');
const zones = ['America/Winnipeg', 'America/Havana', 'America/Inuvik', 'Europe/London'];
const hour = (timeZone) => noon.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' });
console.log('Node.js', process.versions.tz, ...zones.map(hour));
console.log('moment-timezone', moment.tz.dataVersion, ...zones.map((zone) => moment(noon).tz(zone).format('HH:mm')));
SCRIPT
cat > noon.py <<'SCRIPT'
import datetime, zoneinfo
import tzdata
zoneinfo.reset_tzpath(to=())
noon = datetime.datetime(2026, 12, 15, 12, tzinfo=datetime.timezone.utc)
zones = ["America/Winnipeg", "America/Havana", "America/Inuvik", "Europe/London"]
print("tzdata", tzdata.IANA_VERSION, *(f"{noon.astimezone(zoneinfo.ZoneInfo(zone)):%H:%M}" for zone in zones))
SCRIPT
output=$(node_modules/.bin/node noon.js && venv/bin/python noon.py)
echo "$output"
grep -qxF 'Node.js 2026c 06:00 07:00 05:00 12:00' <<<"$output"
grep -qxF 'moment-timezone 2026f 07:00 08:00 06:00 12:00' <<<"$output"
grep -qxF 'tzdata 2026f 07:00 08:00 06:00 12:00' <<<"$output"
echo 'as described'
