#!/usr/bin/env bash
# ical.js 2.2.1, node-ical 0.27.2 (Node.js) and icalendar 7.3.2 (Python): events from noon in Berlin with a duration of one day or
# of 24 hours, over the night in which summer time ends.
# Expected: P1D ends at noon, after 25 hours, and PT24H ends at 11 o'clock, after exactly 24 (RFC 5545, section 3.3.6: days are
# nominal, hours are exact).
# Seen: each makes no difference between the two. ical.js and icalendar end both at noon, an hour late for PT24H; node-ical ends
# both at 11 o'clock, an hour early for P1D.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ical.js@2.2.1 node-ical@0.27.2
python3 -m venv venv
venv/bin/pip install --quiet icalendar==7.3.2
event() {
  printf '%s\n' BEGIN:VEVENT "UID:$1" DTSTAMP:20260101T000000Z 'DTSTART;TZID=Europe/Berlin:20261024T120000' "DURATION:$1" \
    "SUMMARY:$1" END:VEVENT
}
{
  cat <<'CALENDAR'
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//durations//EN
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:DAYLIGHT
DTSTART:19960331T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:19961027T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
END:VTIMEZONE
CALENDAR
  event P1D
  event PT24H
  echo END:VCALENDAR
} | sed 's/$/\r/' > events.ics
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import ICAL from 'ical.js';
import ical from 'node-ical';
const text = readFileSync('events.ics', 'utf8');
const calendar = new ICAL.Component(ICAL.parse(text));
ICAL.TimezoneService.register(calendar.getFirstSubcomponent('vtimezone'));
for (const event of calendar.getAllSubcomponents('vevent').map((it) => new ICAL.Event(it)))
  console.log('ical.js', event.summary, event.endDate.toJSDate().toISOString());
for (const event of Object.values(ical.sync.parseICS(text)))
  if (event.type === 'VEVENT') console.log('node-ical', event.summary, event.end.toISOString());
SCRIPT
cat > read.py <<'SCRIPT'
from datetime import timezone
import icalendar
for event in icalendar.Calendar.from_ical(open("events.ics", "rb").read()).walk("VEVENT"):
    print("icalendar", event["SUMMARY"], f"{event.end.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S.000Z}")
SCRIPT
output=$(node read.js && venv/bin/python read.py)
echo "$output"
for duration in P1D PT24H; do
  grep -qxF "ical.js $duration 2026-10-25T11:00:00.000Z" <<<"$output"
  grep -qxF "icalendar $duration 2026-10-25T11:00:00.000Z" <<<"$output"
  grep -qxF "node-ical $duration 2026-10-25T10:00:00.000Z" <<<"$output"
done
echo 'as described'
