#!/usr/bin/env bash
# mingo 7.2.7 (Node.js), MongoDB's queries and aggregations for arrays in memory, as tests use it: calculations with dates.
# Expected: as MongoDB (seen with 6.0.5): a month after 31 January is 28 February, the last day of the month ($dateAdd, "adjusted"), a day after
# midnight in Vienna is midnight also if it has 25 hours, 31 December 2026 is in week 52 of `$week`, and Thursday is day 5 of `%w`.
# Seen: 3 March; 23:00 of the same day; 53; 4. `$dateSubtract`, quarters and a year after 29 February run over into the next month too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mingo@7.2.7
cat > dates.js <<'SCRIPT'
import mingo from 'mingo';
const at = (text) => new Date(text);
const EXPRESSIONS = {
  'month after 31 January': { $dateAdd: { startDate: at('2026-01-31'), unit: 'month', amount: 1 } },
  'month before 31 March': { $dateSubtract: { startDate: at('2026-03-31'), unit: 'month', amount: 1 } },
  'quarter after 30 November': { $dateAdd: { startDate: at('2026-11-30'), unit: 'quarter', amount: 1 } },
  'year after 29 February': { $dateAdd: { startDate: at('2028-02-29'), unit: 'year', amount: 1 } },
  'month after 28 January': { $dateAdd: { startDate: at('2026-01-28'), unit: 'month', amount: 1 } },
  'day of 25 hours': { $dateAdd: { startDate: at('2026-10-24T22:00Z'), unit: 'day', amount: 1, timezone: 'Europe/Vienna' } },
  week: { $week: at('2026-12-31') },
  weekday: { $dateToString: { date: at('2026-12-31'), format: '%w' } },
};
const [values] = new mingo.Aggregator([{ $project: EXPRESSIONS }]).run([{}]);
for (const name of Object.keys(EXPRESSIONS)) console.log(`${name}:`, JSON.stringify(values[name]));
SCRIPT
output=$(TZ=UTC node dates.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
month after 31 January: "2026-03-03T00:00:00.000Z"
month before 31 March: "2026-03-03T00:00:00.000Z"
quarter after 30 November: "2027-03-02T00:00:00.000Z"
year after 29 February: "2029-03-01T00:00:00.000Z"
month after 28 January: "2026-02-28T00:00:00.000Z"
day of 25 hours: "2026-10-25T22:00:00.000Z"
week: 53
weekday: "4"
SCRIPT
echo 'as described'
