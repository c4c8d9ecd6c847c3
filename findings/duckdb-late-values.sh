#!/usr/bin/env bash
# duckdb 2.0.1 (Python): a file of NDJSON with 30,000 records, in which a field changes after record 29,000; the types are taken from the
# first 20,480 records (`sample_size`).
# Expected: an error, as polars 2.1.0 gives it and as DuckDB gives it for a new field or a text among dates, or the values, as with pyarrow.
# Seen: a field that was null until then becomes a column of the type "NULL", and its 1000 texts are read as null. A fraction among whole
# numbers is rounded: 1.75 is read as 2. Neither is an error. With `sample_size=-1` all values are there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1
cat > late.py <<'SCRIPT'
import json
import duckdb, polars, pyarrow.json
def write(early, late):
    with open("late.ndjson", "w") as file:
        for number in range(30_000):
            file.write(json.dumps({"id": number, "value": early if number < 29_000 else late}) + "\n")
def attempt(name, read):
    try:
        print(name, "|", read())
    except Exception as error:
        print(name, "|", type(error).__name__)
for early, late in ((None, "refunded"), (1, 1.75), ("2026-11-28", "soon")):
    write(early, late)
    print(early, "then", late)
    for source in "'late.ndjson'", "read_json('late.ndjson', sample_size=-1)":
        attempt(f"duckdb {source}", lambda: duckdb.sql(f"select value, count(*) from {source} group by value order by 2").fetchall())
    attempt("polars", lambda: polars.read_ndjson("late.ndjson")["value"][29_000])
    attempt("pyarrow", lambda: pyarrow.json.read_json("late.ndjson")["value"][29_000].as_py())
SCRIPT
output=$(venv/bin/python late.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
None then refunded
duckdb 'late.ndjson' | [(None, 30000)]
duckdb read_json('late.ndjson', sample_size=-1) | [('refunded', 1000), (None, 29000)]
polars | ComputeError
pyarrow | refunded
1 then 1.75
duckdb 'late.ndjson' | [(2, 1000), (1, 29000)]
duckdb read_json('late.ndjson', sample_size=-1) | [(1.75, 1000), (1.0, 29000)]
polars | ComputeError
pyarrow | 1.75
2026-11-28 then soon
duckdb 'late.ndjson' | InvalidInputException
duckdb read_json('late.ndjson', sample_size=-1) | [('soon', 1000), ('2026-11-28', 29000)]
polars | soon
pyarrow | soon
LINES
echo 'as described'
