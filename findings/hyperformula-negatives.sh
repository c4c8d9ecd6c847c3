#!/usr/bin/env bash
# HyperFormula 3.5.0 (Node.js): functions of Excel with negative numbers and formats, with the examples of Microsoft's documentation.
# Expected: INT(-8.9) is -9, CEILING.MATH(-5.5,2,-1) is -6, FLOOR.MATH(-5.5,2,-1) is -4 and TEXT(0.285,"0.0%") is "28.5%".
# Seen: INT cuts the decimals, -8, and so differs from FLOOR. The two others are exchanged, -4 and -6, because only a mode of exactly 1
# counts, where Excel asks for a mode that is not 0. The percentage is "0.3%", and a price in the format "$#,##0.00" is "$1235,##0.00".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund hyperformula@3.5.0
cat > calculate.js <<'SCRIPT'
import { HyperFormula } from 'hyperformula';
const sheet = HyperFormula.buildFromArray([[]], { licenseKey: 'gpl-v3' });
const formulas = [
  'INT(-8.9)', 'FLOOR(-8.9,1)', 'CEILING.MATH(-5.5,2,1)', 'CEILING.MATH(-5.5,2,-1)', 'FLOOR.MATH(-5.5,2,1)', 'FLOOR.MATH(-5.5,2,-1)',
  'TEXT(0.285,"0.0%")', 'TEXT(1234.567,"$#,##0.00")',
];
for (const formula of formulas)
  console.log(formula, '|', sheet.calculateFormula(`=${formula}`, 0));
SCRIPT
output=$(node calculate.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
INT(-8.9) | -8
FLOOR(-8.9,1) | -9
CEILING.MATH(-5.5,2,1) | -6
CEILING.MATH(-5.5,2,-1) | -4
FLOOR.MATH(-5.5,2,1) | -4
FLOOR.MATH(-5.5,2,-1) | -6
TEXT(0.285,"0.0%") | 0.3%
TEXT(1234.567,"$#,##0.00") | $1235,##0.00
LINES
echo 'as described'
