#!/usr/bin/env bash
# cronosjs 1.7.1 and @datasert/cronjs-matcher 1.4.0 (Node.js): jobs each hour and each half hour in the time zone of Vienna, on 25 October
# 2026, when summer time ends and the hour from 2 to 3 is repeated.
# Expected: a time each hour and each half hour, as with cron 4.4.0 and in Vixie cron, whose jobs with a star in the hour go on.
# Seen: no time in the second of the two hours, so that a job each half hour waits an hour and a half; at 00:30 UTC and then at 02:00 UTC.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @datasert/cronjs-matcher@1.4.0 cron@4.4.0 cronosjs@1.7.1
cat > times.js <<'SCRIPT'
import { getFutureMatches } from '@datasert/cronjs-matcher';
import { CronTime } from 'cron';
import { CronosExpression } from 'cronosjs';
const START = new Date('2026-10-24T23:45:00Z');
const timezone = 'Europe/Vienna';
const FINDERS = {
  cronjs: (text) => getFutureMatches(text, { matchCount: 4, startAt: START.toISOString(), timezone }),
  cronosjs: (text) => CronosExpression.parse(text, { timezone }).nextNDates(START, 4),
  cron: (text) => {
    const times = [START];
    for (let i = 0; i < 4; i++) times.push(new CronTime(text, timezone).getNextDateFrom(times.at(-1), timezone).toJSDate());
    return times.slice(1);
  },
};
for (const text of ['0 * * * *', '*/30 * * * *'])
  for (const [name, find] of Object.entries(FINDERS))
    console.log(text, '|', name, find(text).map((time) => new Date(time).toISOString().slice(11, 16)).join(' '));
SCRIPT
output=$(TZ=UTC node times.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
0 * * * * | cronjs 00:00 02:00 03:00 04:00
0 * * * * | cronosjs 00:00 02:00 03:00 04:00
0 * * * * | cron 00:00 01:00 02:00 03:00
*/30 * * * * | cronjs 00:00 00:30 02:00 02:30
*/30 * * * * | cronosjs 00:00 00:30 02:00 02:30
*/30 * * * * | cron 00:00 00:30 01:00 01:30
LINES
echo 'as described'
