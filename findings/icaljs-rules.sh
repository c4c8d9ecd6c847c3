#!/usr/bin/env bash
# ical.js 2.2.1 and rrule-temporal 2.2.8 (Node.js), python-dateutil 2.9.0.post0: the first three dates of recurrence rules. Three are
# examples of RFC 5545 (sections 3.3.10 and 3.8.5.3): the 20th Monday of each year, the Monday of week 20, and Sundays in January at
# 8:30 and 9:30 every other year. The others are the last weekday of each week and a birthday on 29 February.
# Expected: the dates of RFC 5545; the birthday only in leap years, because dates that do not exist are left out.
# Seen: ical.js repeats the first two on each Monday, the second without its start, leaves out 9:30, takes each weekday for the last
# one, and puts the birthday on 1 March.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ical.js@2.2.1 rrule-temporal@2.2.8
python3 -m venv venv
venv/bin/pip install --quiet python-dateutil==2.9.0.post0
cat > rules.txt <<'RULES'
1997-05-19T09:00:00 FREQ=YEARLY;BYDAY=20MO
1997-05-12T09:00:00 FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO
1997-01-05T08:30:00 FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30
2026-01-09T09:00:00 FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1
2028-02-29T09:00:00 FREQ=YEARLY
RULES
cat > dates.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import ICAL from 'ical.js';
import { RRuleTemporal } from 'rrule-temporal';
for (const line of readFileSync('rules.txt', 'utf8').trim().split('\n')) {
  const [start, rule] = line.split(' ');
  const dates = ICAL.Recur.fromString(rule).iterator(ICAL.Time.fromDateTimeString(start));
  console.log('ical.js', rule, ...Array.from({ length: 3 }, () => dates.next().toString().slice(0, 16)));
  const temporal = new RRuleTemporal({ rruleString: `DTSTART:${start.replace(/[:-]/g, '')}Z\nRRULE:${rule}` });
  console.log('rrule-temporal', rule, ...temporal.all((_, at) => at < 3).map((it) => it.toString().slice(0, 16)));
}
SCRIPT
cat > dates.py <<'SCRIPT'
from datetime import datetime
from itertools import islice
from dateutil.rrule import rrulestr
for start, rule in map(str.split, open("rules.txt")):
    dates = islice(rrulestr(rule, dtstart=datetime.fromisoformat(start)), 3)
    print("dateutil", rule, *(it.isoformat()[:16] for it in dates))
SCRIPT
output=$(node dates.js && venv/bin/python dates.py)
echo "$output"
sundays='FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30'
last='FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1'
for library in rrule-temporal dateutil; do
  grep -qxF "$library FREQ=YEARLY;BYDAY=20MO 1997-05-19T09:00 1998-05-18T09:00 1999-05-17T09:00" <<<"$output"
  grep -qxF "$library FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO 1997-05-12T09:00 1998-05-11T09:00 1999-05-17T09:00" <<<"$output"
  grep -qxF "$library $sundays 1997-01-05T08:30 1997-01-05T09:30 1997-01-12T08:30" <<<"$output"
  grep -qxF "$library $last 2026-01-09T09:00 2026-01-16T09:00 2026-01-23T09:00" <<<"$output"
  grep -qxF "$library FREQ=YEARLY 2028-02-29T09:00 2032-02-29T09:00 2036-02-29T09:00" <<<"$output"
done
grep -qxF 'ical.js FREQ=YEARLY;BYDAY=20MO 1997-05-19T09:00 1997-05-26T09:00 1997-06-02T09:00' <<<"$output"
grep -qxF 'ical.js FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO 1997-05-19T09:00 1997-05-26T09:00 1997-06-02T09:00' <<<"$output"
grep -qxF "ical.js $sundays 1997-01-05T08:30 1997-01-12T08:30 1997-01-19T08:30" <<<"$output"
grep -qxF "ical.js $last 2026-01-09T09:00 2026-01-12T09:00 2026-01-13T09:00" <<<"$output"
grep -qxF 'ical.js FREQ=YEARLY 2028-02-29T09:00 2029-03-01T09:00 2030-03-01T09:00' <<<"$output"
echo 'as described'
