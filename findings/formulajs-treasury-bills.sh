#!/usr/bin/env bash
# @formulajs/formulajs 4.6.1 (Node.js): the examples in Microsoft's documentation of TBILLPRICE, TBILLYIELD and TBILLEQ, a Treasury bill
# from 31 March to 1 June 2008.
# Expected: 98.45, 9.141696 % and 9.415149 %, as excelize 2.11.1 and HyperFormula 3.5.0 give, since the documentation takes the days
# between the two dates, 62, of a year of 360.
# Seen: 98.475, 9.2916 % and 9.4127 %: the days are counted in months of 30 days, 61. No error is given.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund @formulajs/formulajs@4.6.1 hyperformula@3.5.0
cat > bills.js <<'SCRIPT'
import * as formulas from '@formulajs/formulajs';
import { HyperFormula } from 'hyperformula';
const sheet = HyperFormula.buildFromArray([[]], { licenseKey: 'gpl-v3' });
const [start, end] = [new Date(2008, 2, 31), new Date(2008, 5, 1)];
for (const [name, number] of [['TBILLPRICE', 0.09], ['TBILLYIELD', 98.45], ['TBILLEQ', 0.0914]]) {
  console.log('formulajs', name, formulas[name](start, end, number).toPrecision(5));
  console.log('hyperformula', name, sheet.calculateFormula(`=${name}(DATE(2008,3,31),DATE(2008,6,1),${number})`, 0).toPrecision(5));
}
console.log('formulajs', 'DAYS', formulas.DAYS(end, start), 'DAYS360', formulas.DAYS360(start, end));
SCRIPT
output=$(node bills.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
formulajs TBILLPRICE 98.475
hyperformula TBILLPRICE 98.450
formulajs TBILLYIELD 0.092916
hyperformula TBILLYIELD 0.091417
formulajs TBILLEQ 0.094127
hyperformula TBILLEQ 0.094151
formulajs DAYS 62 DAYS360 61
LINES
echo 'as described'
