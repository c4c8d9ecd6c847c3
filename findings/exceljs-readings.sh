#!/usr/bin/env bash
# exceljs 4.4.0 (Node.js): a Japanese workbook, read as a stream with `stream.xlsx.WorkbookReader`. Excel stores the reading of each word
# that was typed beside it (`rPh`, ECMA-376, part 1, 18.4.6), to sort by it.
# Expected: the words, as from `xlsx.readFile` of exceljs, SheetJS, openpyxl 3.1.5 and python-calamine 0.9.1.
# Seen: the stream has the reading in the place of the word: トウキョウ for 東京, and of several readings the last one. Cells with several
# fonts are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund exceljs@4.4.0 xlsx@0.18.5
python3 -m venv venv
venv/bin/pip install --quiet openpyxl==3.1.5 python-calamine==0.9.1
cat > book.py <<'SCRIPT'
import zipfile
import openpyxl, python_calamine
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml."
WORDS = [
    '<t>東京</t><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/>',
    '<t>大阪支店</t><rPh sb="0" eb="2"><t>オオサカ</t></rPh><rPh sb="2" eb="4"><t>シテン</t></rPh><phoneticPr fontId="1"/>',
    '<r><t>東</t></r><r><rPr><b/></rPr><t>京</t></r><rPh sb="0" eb="2"><t>トウキョウ</t></rPh>',
    "<t>なし</t>",
]
OVERRIDES = {"workbook": "sheet.main", "worksheets/sheet1": "worksheet", "sharedStrings": "sharedStrings"}
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    + "".join(f'<Override PartName="/xl/{part}.xml" ContentType="{TYPES}{kind}+xml"/>' for part, kind in OVERRIDES.items())
    + "</Types>",
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
    "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{"".join(f"<si>{word}</si>" for word in WORDS)}</sst>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData><row r="1">'
    + "".join(f'<c r="{letter}1" t="s"><v>{index}</v></c>' for index, letter in enumerate("ABCD"))
    + "</row></sheetData></worksheet>",
}
with zipfile.ZipFile("book.xlsx", "w") as archive:
    for name, text in PARTS.items():
        archive.writestr(name, XML + text)
print("openpyxl", *(cell.value for cell in openpyxl.load_workbook("book.xlsx").active[1]))
print("calamine", *python_calamine.load_workbook("book.xlsx").get_sheet_by_index(0).to_python()[0])
SCRIPT
cat > read.js <<'SCRIPT'
import ExcelJS from 'exceljs';
import XLSX from 'xlsx';
const workbook = new ExcelJS.Workbook();
await workbook.xlsx.readFile('book.xlsx');
const text = (value) => value.richText?.map((run) => run.text).join('') ?? value;
console.log('exceljs', ...workbook.worksheets[0].getRow(1).values.slice(1).map(text));
console.log('sheetjs', ...XLSX.utils.sheet_to_json(XLSX.readFile('book.xlsx').Sheets.s, { header: 1 })[0]);
for await (const sheet of new ExcelJS.stream.xlsx.WorkbookReader('book.xlsx'))
  for await (const row of sheet) console.log('stream', ...row.values.slice(1).map(text));
SCRIPT
output=$(venv/bin/python book.py && node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
openpyxl 東京 大阪支店 東京 なし
calamine 東京 大阪支店 東京 なし
exceljs 東京 大阪支店 東京 なし
sheetjs 東京 大阪支店 東京 なし
stream トウキョウ シテン 東京 なし
LINES
echo 'as described'
