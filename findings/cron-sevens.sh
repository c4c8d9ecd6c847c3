#!/usr/bin/env bash
# @breejs/later 4.2.0, which the scheduler Bree uses, and @datasert/cronjs-matcher 1.4.0 (Node.js): 7 for Sunday in cron expressions, as
# crontab(5) permits it.
# Expected: `0 9 * * 7` on Sundays, and `0 9 * * 5-7` on Fridays, Saturdays and Sundays, as for cron 4.4.0 and cronosjs 1.7.1.
# Seen: later runs the first on Saturdays, so that a job of the weekend runs a day early, and both leave Sundays out of the second.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @breejs/later@4.2.0 @datasert/cronjs-matcher@1.4.0 cron@4.4.0 cronosjs@1.7.1
cat > days.js <<'SCRIPT'
import later from '@breejs/later';
import { getFutureMatches } from '@datasert/cronjs-matcher';
import { CronTime } from 'cron';
import { CronosExpression } from 'cronosjs';
const START = new Date('2026-11-30T00:00:00Z');
const FINDERS = {
  later: (text) => later.schedule(later.parse.cron(text)).next(6, START),
  cronjs: (text) => getFutureMatches(text, { matchCount: 6, startAt: START.toISOString(), timezone: 'UTC' }),
  cronosjs: (text) => CronosExpression.parse(text, { timezone: 'UTC' }).nextNDates(START, 6),
  cron: (text) => {
    const times = [START];
    for (let i = 0; i < 6; i++) times.push(new CronTime(text, 'UTC').getNextDateFrom(times.at(-1), 'UTC').toJSDate());
    return times.slice(1);
  },
};
const day = (time) => new Date(time).toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' });
for (const text of ['0 9 * * 7', '0 9 * * 5-7', '0 9 * * 0'])
  for (const [name, find] of Object.entries(FINDERS)) console.log(text, '|', name, [...new Set(find(text).map(day))].sort().join(' '));
SCRIPT
output=$(TZ=UTC node days.js)
echo "$output"
diff - <(grep -v ' \* 0 ' <<<"$output") <<'LINES'
0 9 * * 7 | later Sat
0 9 * * 7 | cronjs Sun
0 9 * * 7 | cronosjs Sun
0 9 * * 7 | cron Sun
0 9 * * 5-7 | later Fri Sat
0 9 * * 5-7 | cronjs Fri Sat
0 9 * * 5-7 | cronosjs Fri Sat Sun
0 9 * * 5-7 | cron Fri Sat Sun
LINES
[ "$(grep -c ' \* 0 | [a-z]* Sun$' <<<"$output")" = 4 ]
echo 'as described'
