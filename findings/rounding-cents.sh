#!/usr/bin/env bash
# HyperFormula 3.5.0 and currency.js 2.0.4 (Node.js): amounts rounded to cents.
# Expected: `ROUND(1.005, 2)` is 1.01 and `ROUNDDOWN(4.35, 2)` leaves 4.35, as @formulajs/formulajs 4.6.1 has it; a credit note has the
# amount of its invoice with a minus sign.
# Seen: HyperFormula gives 1 for `ROUND(1.005, 2)`, and `ROUNDDOWN` takes a cent from 573 of the 10,000 amounts below 100 that have
# just two places; 4.35 becomes 4.34. currency.js makes 1.005 to 1.01, but -1.005 to -1, so that an invoice and its credit note differ
# by a cent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund hyperformula@3.5.0 @formulajs/formulajs@4.6.1 currency.js@2.0.4
cat > round.js <<'SCRIPT'
import { ROUND, ROUNDDOWN } from '@formulajs/formulajs';
import currency from 'currency.js';
import { HyperFormula } from 'hyperformula';
const [values] = HyperFormula.buildFromArray([['=ROUND(1.005, 2)', '=ROUNDDOWN(4.35, 2)']], { licenseKey: 'gpl-v3' }).getSheetValues(0);
console.log('HyperFormula', ...values);
console.log('formulajs', ROUND(1.005, 2), ROUNDDOWN(4.35, 2));
console.log('currency.js', currency(1.005).value, currency(-1.005).value);
const amounts = Array.from({ length: 10000 }, (_, cents) => cents / 100);
const rows = amounts.map((it) => [`=ROUNDDOWN(${it}, 2)`]);
const rounded = HyperFormula.buildFromArray(rows, { licenseKey: 'gpl-v3' }).getSheetValues(0);
console.log('a cent taken from', amounts.filter((it, row) => rounded[row][0] !== it).length, 'of', amounts.length, 'amounts');
SCRIPT
output=$(node round.js)
echo "$output"
grep -qxF 'HyperFormula 1 4.34' <<<"$output"
grep -qxF 'formulajs 1.01 4.35' <<<"$output"
grep -qxF 'currency.js 1.01 -1' <<<"$output"
grep -qxF 'a cent taken from 573 of 10000 amounts' <<<"$output"
echo 'as described'
