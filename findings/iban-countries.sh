#!/usr/bin/env bash
# iban 0.0.14 (Node.js): account numbers of countries that have joined the IBAN registry of SWIFT (ISO 13616) since 2020, with their check
# digits, which ibantools 4.5.4 (Node.js) accepts.
# Expected: valid.
# Seen: all of them are invalid, as if they had a typing error, and Burundi's, which have 27 characters, may only have 16.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund iban@0.0.14 ibantools@4.5.4
cat > numbers.json <<'NUMBERS'
["AT611904300234573201", "BI4210000100010000332045181", "DJ2100010000000154000100186", "HN88CABF00000000000250005469", "LY83002048000020100120361",
 "MN121234123456789123", "NI45BAPR00000013000003558124", "OM810180000001299123456", "SD8811123456789012", "SO211000001001000100141"]
NUMBERS
cat > check.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import iban from 'iban';
import { isValidIBAN } from 'ibantools';
for (const number of JSON.parse(readFileSync('numbers.json', 'utf8')))
  console.log(number.slice(0, 2), iban.isValid(number), isValidIBAN(number));
SCRIPT
output=$(node check.js)
echo "$output"
grep -qx 'AT true true' <<<"$output"
[ "$(grep -c '^.. false true$' <<<"$output")" = 9 ]
echo 'as described'
