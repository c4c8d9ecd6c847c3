#!/usr/bin/env bash
# python-calamine 0.9.1 (Python): OpenDocument spreadsheets with a tab or a line break in a cell (ODF 1.3, part 3, section 6.1), as
# odfpy 1.4.1 writes them.
# Expected: the characters, or a space, as it keeps spaces and the borders of paragraphs.
# Seen: nothing is in their place, so that the words on both sides become one: "net weight" and "20 kg" are "net weight20 kg". xlsx
# 0.18.5 (Node.js) gives both characters.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund xlsx@0.18.5
python3 -m venv venv
venv/bin/pip install --quiet python-calamine==0.9.1 odfpy==1.4.1
cat > cells.py <<'SCRIPT'
import json
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import LineBreak, P, S, Tab
from python_calamine import CalamineWorkbook
book = OpenDocumentSpreadsheet()
table, row = Table(name="Sheet"), TableRow()
for between in (Tab, LineBreak, S):
    paragraph = P(text="net weight")
    paragraph.addElement(between())
    paragraph.addText("20 kg")
    cell = TableCell(valuetype="string")
    cell.addElement(paragraph)
    row.addElement(cell)
table.addElement(row)
book.spreadsheet.addElement(table)
book.save("book.ods")
print("python-calamine", json.dumps(CalamineWorkbook.from_path("book.ods").get_sheet_by_index(0).to_python()[0]))
SCRIPT
cat > read.js <<'SCRIPT'
import xlsx from 'xlsx';
const book = xlsx.readFile('book.ods');
const [row] = xlsx.utils.sheet_to_json(book.Sheets.Sheet, { header: 1 });
console.log('xlsx', JSON.stringify(row).replaceAll(',', ', '));
SCRIPT
output=$(venv/bin/python cells.py && node read.js)
echo "$output"
grep -qxF 'python-calamine ["net weight20 kg", "net weight20 kg", "net weight 20 kg"]' <<<"$output"
grep -qxF 'xlsx ["net weight\t20 kg", "net weight\n20 kg", "net weight 20 kg"]' <<<"$output"
echo 'as described'
