#!/usr/bin/env bash
# dateparser 1.5.0 (Python), a release of November 2026: texts with dates as pages show them, read on 28 November 2026.
# Expected: "1,000 days ago" is 3 March 2024, and None is returned for what is no date, such as quarters.
# Seen: "1,000 days ago" is yesterday, as if it were "1 days ago", whereas "1000 days ago" is right. "Q1 2027" is 28 February 2027 and
# "Q4 2026" is today: the letter is dropped, the number is a month or nothing, and the day of today is put in.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet dateparser==1.5.0
cat > dates.py <<'SCRIPT'
import warnings
warnings.simplefilter("ignore")
import datetime, dateparser
for text in ("1000 days ago", "1,000 days ago", "Q1 2027", "Q4 2026", "week 45 2026"):
    date = dateparser.parse(text, settings={"RELATIVE_BASE": datetime.datetime(2026, 11, 28), "TIMEZONE": "UTC"})
    print(text, "=", date and date.date())
SCRIPT
output=$(venv/bin/python dates.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
1000 days ago = 2024-03-03
1,000 days ago = 2026-11-27
Q1 2027 = 2027-02-28
Q4 2026 = 2026-11-28
week 45 2026 = None
SCRIPT
echo 'as described'
