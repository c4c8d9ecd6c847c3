#!/usr/bin/env bash
# papaparse 5.7.1 and csv-string 4.1.1 (Node.js): the guess of the delimiter for prices with decimal commas and semicolons between them, as
# spreadsheets save them in most of Europe, in a file without a header.
# Expected: the semicolon, as with a header.
# Seen: the comma, since it is there more often, so that 12,50 and 1,20 become 12, "50;1" and 20, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund papaparse@5.7.1 csv-string@4.1.1
cat > read.js <<'SCRIPT'
import csvString from 'csv-string';
import Papa from 'papaparse';
const ROWS = '12,50;1,20\n13,75;1,30\n14,00;1,40';
for (const text of [ROWS, `net;tax\n${ROWS}`]) {
  const { data, errors } = Papa.parse(text);
  console.log('papaparse', JSON.stringify(data.at(-1)), errors.length);
  console.log('csv-string', JSON.stringify(csvString.parse(text).at(-1)), csvString.detect(text));
}
SCRIPT
output=$(node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
papaparse ["14","00;1","40"] 0
csv-string ["14","00;1","40"] ,
papaparse ["14,00","1,40"] 0
csv-string ["14,00","1,40"] ;
LINES
echo 'as described'
