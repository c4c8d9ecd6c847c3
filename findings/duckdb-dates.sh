#!/usr/bin/env bash
# duckdb 2.0.1 (Python): days in a CSV file that is read without a `dateformat`.
# Expected: days that can be read in two ways stay texts, as JSON and pandas leave them, or are read as in the USA.
# Seen: `03/04/2026` is the 3rd of April, without a warning; if a later line has `12/25/2026`, it is the 4th of March, so that two files of
# the same export differ. `03/04/26` is the 26th of April 2003.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet duckdb==2.0.1
cat > days.py <<'SCRIPT'
import duckdb
for days in (["03/04/2026", "05/06/2026"], ["03/04/2026", "12/25/2026"], ["03/04/26", "05/06/26"]):
    with open("days.csv", "w") as file:
        file.write("id,day\n" + "".join(f"{number},{day}\n" for number, day in enumerate(days)))
    rows = duckdb.sql("select day from 'days.csv' order by id").fetchall()
    [(format,)] = duckdb.sql("select dateformat from sniff_csv('days.csv')").fetchall()
    print(*days, "|", format, "|", *(day for (day,) in rows))
SCRIPT
output=$(venv/bin/python days.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
03/04/2026 05/06/2026 | %d/%m/%Y | 2026-04-03 2026-06-05
03/04/2026 12/25/2026 | %m/%d/%Y | 2026-03-04 2026-12-25
03/04/26 05/06/26 | %y/%m/%d | 2003-04-26 2005-06-26
LINES
echo 'as described'
