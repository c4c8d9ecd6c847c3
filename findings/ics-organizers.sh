#!/usr/bin/env bash
# ics 3.12.0 (Node.js): an event with a nickname in quotes in the name of its organizer, a category with a comma, a duration of a week and
# an hour and an alarm a day before, read by icalendar 7.3.0 (Python).
# Expected: ^' for the quotes (RFC 6868), a backslash before the comma, P8DT1H or PT169H, and -P1D (RFC 5545).
# Seen: \" for the quotes, so that the reader drops the organizer with an error; no backslash, so that the category becomes two; and
# P1WT1H and -P1DT, which the grammar of RFC 5545 does not have.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ics@3.12.0
python3 -m venv venv
venv/bin/pip install --quiet icalendar==7.3.0
cat > write.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { createEvent } from 'ics';
const { error, value } = createEvent({
  title: 'Review',
  start: [2026, 11, 28, 9, 0],
  duration: { weeks: 1, hours: 1 },
  categories: ['Research, internal', 'Plans'],
  organizer: { name: 'Smith "JS"', email: 'a@example.com' },
  alarms: [{ action: 'display', description: 'Review', trigger: { days: 1, before: true } }],
});
if (error) throw error;
writeFileSync('event.ics', value);
console.log(value.match(/^(DURATION|TRIGGER|CATEGORIES|ORGANIZER).*$/gm).join('\n'));
SCRIPT
cat > read.py <<'SCRIPT'
import icalendar
calendar = icalendar.Calendar.from_ical(open("event.ics", newline="").read())
event = calendar.walk("VEVENT")[0]
print("organizer:", event.get("ORGANIZER"), "errors:", len(event.errors), "categories:", [str(name) for name in event["CATEGORIES"].cats])
SCRIPT
output=$(node write.js && venv/bin/python read.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
CATEGORIES:Research, internal,Plans
ORGANIZER;CN="Smith \"JS\"":MAILTO:a@example.com
DURATION:P1WT1H
TRIGGER:-P1DT
organizer: None errors: 1 categories: ['Research', ' internal', 'Plans']
LINES
echo 'as described'
