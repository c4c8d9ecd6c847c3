#!/usr/bin/env bash
# croniter 7.0.0 and APScheduler 3.11.3 (Python): `30 2 * * *` in Europe/Vienna, where 2:30 comes twice on 25 October 2026.
# Expected: one run, as with cron, whose manual says that a job at a fixed time is not repeated when the clock is set back, and as with
# cronsim 2.8, croner 11.0.1 and cron-parser 5.10.6.
# Seen: both run it twice, an hour apart, so that a daily invoice or backup is made a second time. In spring, when 2:30 does not exist,
# each of them runs it once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund croner@11.0.1 cron-parser@5.10.6
python3 -m venv venv
venv/bin/pip install --quiet croniter==7.0.0 cronsim==2.8 apscheduler==3.11.3 tzdata==2026.3
cat > days.py <<'SCRIPT'
from datetime import datetime, timezone
from itertools import islice
from zoneinfo import ZoneInfo
from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim
pattern, zone = "30 2 * * *", ZoneInfo("Europe/Vienna")
def scheduled(start):
    trigger, moment = CronTrigger.from_crontab(pattern, timezone=zone), None
    while True:
        moment = trigger.get_next_fire_time(moment, moment or start)
        yield moment
for month, day in ((10, 24), (3, 28)):
    start = datetime(2026, month, day, 20, tzinfo=zone)
    runs = {"croniter": croniter(pattern, start).all_next(datetime), "cronsim": CronSim(pattern, start), "apscheduler": scheduled(start)}
    for name, moments in runs.items():
        print(name, *(it.astimezone(timezone.utc).strftime("%d:%H%M") for it in islice(moments, 3)))
SCRIPT
cat > days.js <<'SCRIPT'
import { CronExpressionParser } from 'cron-parser';
import { Cron } from 'croner';
const [pattern, timezone] = ['30 2 * * *', 'Europe/Vienna'];
const text = (date) => date.toISOString().slice(8, 16).replace('T', ':').replace(/:(\d\d):/, ':$1');
for (const start of ['2026-10-24T18:00:00Z', '2026-03-28T19:00:00Z']) {
  console.log('croner', ...new Cron(pattern, { timezone, paused: true }).nextRuns(3, new Date(start)).map(text));
  const parser = CronExpressionParser.parse(pattern, { currentDate: new Date(start), tz: timezone });
  console.log('cron-parser', ...Array.from({ length: 3 }, () => text(parser.next().toDate())));
}
SCRIPT
output=$(venv/bin/python days.py && node days.js)
echo "$output"
for name in croniter apscheduler; do grep -qx "$name 25:0030 25:0130 26:0130" <<<"$output"; done
for name in cronsim croner cron-parser; do grep -qx "$name 25:0030 26:0130 27:0130" <<<"$output"; done
[ "$(grep -c ' 29:0[01][03]0 30:0030 31:0030$' <<<"$output")" = 5 ]
echo 'as described'
