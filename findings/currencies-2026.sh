#!/usr/bin/env bash
# Babel 2.18.0 (Python) and currency-codes 2.2.0 (Node.js), the current releases in November 2026: the currencies of Bulgaria, which has had
# the euro since 1 January 2026, and of Curaçao, which has had the Caribbean guilder (XCG) since March 2025.
# Expected: EUR and XCG, as country-to-currency 3.0.1 (Node.js) has them.
# Seen: both give BGN for Bulgaria, Babel also for a day in June 2026. currency-codes does not know XCG.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund currency-codes@2.2.0 country-to-currency@3.0.1
python3 -m venv venv
venv/bin/pip install --quiet babel==2.18.0
cat > countries.js <<'SCRIPT'
import countries from 'country-to-currency';
import currencies from 'currency-codes';
console.log('country-to-currency', countries.BG, countries.CW);
console.log('currency-codes', ...['bulgaria', 'curaçao'].map((country) => currencies.country(country).map((it) => it.code).join()));
console.log('currency-codes knows XCG:', currencies.code('XCG') !== undefined);
SCRIPT
cat > countries.py <<'SCRIPT'
from datetime import date
from babel.numbers import get_territory_currencies
print("Babel", *(",".join(get_territory_currencies(country, date(2026, 6, 1))) for country in ("BG", "CW")))
SCRIPT
output=$(node countries.js && venv/bin/python countries.py)
echo "$output"
grep -qxF 'country-to-currency EUR XCG' <<<"$output"
grep -qxF 'currency-codes BGN ANG' <<<"$output"
grep -qxF 'currency-codes knows XCG: false' <<<"$output"
grep -qxF 'Babel BGN XCG' <<<"$output"
echo 'as described'
