#!/usr/bin/env bash
# apache-arrow 21.2.0 (JavaScript): decimal columns, as databases and pyarrow 26.0.1 write amounts of money.
# Expected: 123.45 of a column of decimals with two places is read and printed as 123.45.
# Seen: the table, a row, `toString`, `Number` and JSON all give 12345, the unscaled integer, and JSON gives it as a string with
# quotes in it. Only `type.scale` of the column tells where the point belongs.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund apache-arrow@21.2.0
python3 -m venv venv
venv/bin/pip install --quiet pyarrow==26.0.1
venv/bin/python - <<'SCRIPT'
from decimal import Decimal
import pyarrow
table = pyarrow.table({"amount": pyarrow.array([Decimal("123.45")], pyarrow.decimal128(10, 2))})
print("pyarrow", table.to_pylist())
with pyarrow.ipc.new_file("amounts.arrow", table.schema) as file:
    file.write_table(table)
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { tableFromIPC } from 'apache-arrow';
const table = tableFromIPC(readFileSync('amounts.arrow'));
const { amount } = table.get(0);
console.log('values', String(amount), Number(amount), JSON.stringify(table.get(0)), 'scale', table.getChild('amount').type.scale);
SCRIPT
output=$(node read.js)
echo "$output"
grep -qxF 'values 12345 12345 {"amount":"\"12345\""} scale 2' <<<"$output"
echo 'as described'
