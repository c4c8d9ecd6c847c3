#!/usr/bin/env bash
# croner 11.0.1, cron-parser 5.10.6 (Node.js), croniter 7.0.0 and cronsim 2.8 (Python): the expression `0 9 */2 * MON`.
# Expected: Mondays that are odd days of a month, as with cron, whose parser (entry.c) asks for a star at the beginning of either
# field; its manual says that a field is restricted if it is not `*`.
# Seen: cronsim does as cron. The other three ask for a lone star, as the manual says, so that they run on each odd day and on each
# Monday: 18 times in December 2026 in the place of 2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund croner@11.0.1 cron-parser@5.10.6
python3 -m venv venv
venv/bin/pip install --quiet croniter==7.0.0 cronsim==2.8
cat > december.js <<'SCRIPT'
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
const [pattern, start, end] = ['0 9 */2 * MON', new Date('2026-12-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')];
const days = (name, dates) => console.log(name, ...dates.filter((it) => it < end).map((it) => it.getUTCDate()));
days('croner', new Cron(pattern, { timezone: 'UTC', paused: true }).nextRuns(31, start));
const parser = CronExpressionParser.parse(pattern, { currentDate: start, tz: 'UTC' });
days('cron-parser', Array.from({ length: 31 }, () => parser.next().toDate()));
SCRIPT
cat > december.py <<'SCRIPT'
from datetime import datetime, timezone
from itertools import takewhile
from croniter import croniter
from cronsim import CronSim
pattern, start = "0 9 */2 * MON", datetime(2026, 12, 1, tzinfo=timezone.utc)
for name, dates in (("croniter", croniter(pattern, start).all_next(datetime)), ("cronsim", CronSim(pattern, start))):
    print(name, *(it.day for it in takewhile(lambda it: it.month == 12, dates)))
SCRIPT
output=$(node december.js && venv/bin/python december.py)
echo "$output"
for name in croner cron-parser croniter; do
  grep -qxF "$name 1 3 5 7 9 11 13 14 15 17 19 21 23 25 27 28 29 31" <<<"$output"
done
grep -qxF 'cronsim 7 21' <<<"$output"
echo 'as described'
