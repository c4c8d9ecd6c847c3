#!/usr/bin/env bash
# price-parser 0.5.1 (Python): prices as shops in Switzerland write them, of fuel, and of currencies with three decimals.
# Expected: 1299.50, 0.999 and 1.5, or None for what it cannot read.
# Seen: "CHF 1’299.50" is 1, because only the apostrophe of ASCII, and not U+2019, separates thousands. "0,999 €" is 999, and "KWD 1.500",
# one and a half dinars, is 1500, although the currency was recognized.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet price-parser==0.5.1
cat > prices.py <<'SCRIPT'
from price_parser import Price
for text in ("CHF 1'299.50", "CHF 1\u2019299.50", "12,99 €", "0,999 €", "KWD 1.500"):
    price = Price.fromstring(text)
    print(text, "=", price.amount, price.currency)
SCRIPT
output=$(PYTHONUTF8=1 venv/bin/python prices.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
CHF 1'299.50 = 1299.50 CHF
CHF 1’299.50 = 1 CHF
12,99 € = 12.99 €
0,999 € = 999 €
KWD 1.500 = 1500 KWD
SCRIPT
echo 'as described'
