#!/usr/bin/env bash
# workalendar 17.0.0 and holidays 0.109 (Python) and date-holidays 3.37.0 (Node.js): public holidays of 2026 that are new or follow from a
# rule.
# Expected: 22 September in Japan, a day between two holidays, which the law makes a holiday, as last in 2015; 15 June in Scotland, the
# bank holiday for the World Cup; and work on 8 May and 15 September in Slovakia, a measure for its budget.
# Seen: workalendar has none of these, although it computes the other two days in Japan for each year. date-holidays lacks the day in
# Scotland. holidays has all. So a due date that is moved to the next working day depends on the library.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund date-holidays@3.37.0
python3 -m venv venv
venv/bin/pip install --quiet workalendar==17.0.0 holidays==0.109
cat > days.py <<'SCRIPT'
from datetime import date
import holidays
from workalendar.asia import Japan
from workalendar.europe import Scotland, Slovakia
for country, part, calendar, days in (("JP", None, Japan, ["09-22"]), ("GB", "SCT", Scotland, ["06-15"]),
                                      ("SK", None, Slovakia, ["05-08", "09-15"])):
    for day in days:
        moment = date.fromisoformat(f"2026-{day}")
        print("workalendar", country, day, calendar().is_holiday(moment))
        print("holidays", country, day, moment in holidays.country_holidays(country, part))
SCRIPT
cat > days.js <<'SCRIPT'
import Holidays from 'date-holidays';
for (const [country, part, days] of [['JP', '', ['09-22']], ['GB', 'SCT', ['06-15']], ['SK', '', ['05-08', '09-15']]]) {
  const found = new Holidays(country, part).getHolidays(2026).filter(({ type }) => type === 'public' || type === 'bank');
  for (const day of days) console.log('date-holidays', country, day, found.some(({ date }) => date.startsWith(`2026-${day}`)));
}
SCRIPT
output=$(venv/bin/python -W ignore days.py && node days.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
workalendar JP 09-22 False
holidays JP 09-22 True
workalendar GB 06-15 False
holidays GB 06-15 True
workalendar SK 05-08 True
holidays SK 05-08 False
workalendar SK 09-15 True
holidays SK 09-15 False
date-holidays JP 09-22 true
date-holidays GB 06-15 false
date-holidays SK 05-08 false
date-holidays SK 09-15 false
LINES
echo 'as described'
