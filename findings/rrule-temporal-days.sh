#!/usr/bin/env bash
# rrule-temporal 2.2.8 (Node.js): a yearly rule with a day of the year and a day of the week, `FREQ=YEARLY;BYYEARDAY=1;BYDAY=SA`.
# Expected: the first days of years that are Saturdays, as BYDAY limits a rule with BYYEARDAY (RFC 5545, section 3.3.10), and as rrule 2.8.1
# (Node.js) and python-dateutil 4.0.0 (Python) have it: 2028, 2033, 2039.
# Seen: each 1 January, whatever its weekday. With BYMONTHDAY in the place of BYYEARDAY, as in `BYMONTHDAY=13;BYDAY=FR`, the weekday counts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund rrule-temporal@2.2.8 rrule@2.8.1
python3 -m venv venv
venv/bin/pip install --quiet python-dateutil==4.0.0
cat > days.js <<'SCRIPT'
import rrule from 'rrule';
import { RRuleTemporal } from 'rrule-temporal';
for (const rule of ['FREQ=YEARLY;BYYEARDAY=1;BYDAY=SA;COUNT=3', 'FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR;COUNT=3']) {
  const days = new RRuleTemporal({ rruleString: `DTSTART:20260101T090000Z\nRRULE:${rule}` }).all();
  console.log('rrule-temporal', rule, ...days.map((it) => it.toPlainDate().toString()));
  const dates = rrule.rrulestr(`DTSTART:20260101T090000Z\nRRULE:${rule}`).all();
  console.log('rrule', rule, ...dates.map((it) => it.toISOString().slice(0, 10)));
}
SCRIPT
cat > days.py <<'SCRIPT'
from dateutil.rrule import rrulestr
for rule in ("FREQ=YEARLY;BYYEARDAY=1;BYDAY=SA;COUNT=3", "FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR;COUNT=3"):
    print("dateutil", rule, *(it.date() for it in rrulestr(f"DTSTART:20260101T090000Z\nRRULE:{rule}")))
SCRIPT
output=$(node days.js && venv/bin/python days.py)
echo "$output"
for library in rrule-temporal rrule dateutil; do
  grep -qxF "$library FREQ=YEARLY;BYMONTHDAY=13;BYDAY=FR;COUNT=3 2026-02-13 2026-03-13 2026-11-13" <<<"$output"
done
for library in rrule dateutil; do
  grep -qxF "$library FREQ=YEARLY;BYYEARDAY=1;BYDAY=SA;COUNT=3 2028-01-01 2033-01-01 2039-01-01" <<<"$output"
done
grep -qxF 'rrule-temporal FREQ=YEARLY;BYYEARDAY=1;BYDAY=SA;COUNT=3 2026-01-01 2027-01-01 2028-01-01' <<<"$output"
echo 'as described'
