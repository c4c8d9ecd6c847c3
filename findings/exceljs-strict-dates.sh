#!/usr/bin/env bash
# exceljs 4.4.0: a workbook with a date in ISO form (`t="d"`, ISO/IEC 29500-1, section 18.18.11), as Excel saves dates with "Strict
# Open XML Spreadsheet".
# Expected: the date, as python-calamine 0.9.1 reads it, or an error.
# Seen: 18 July 1905 for each date of 2026, because only the year is read, as a number of days; a cell without a date format gives
# the number 2026. openpyxl 3.1.5 warns and finds no sheet in the strict file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund exceljs@4.4.0
python3 -m venv venv
venv/bin/pip install --quiet python-calamine==0.9.1 openpyxl==3.1.5
cat > write.py <<'SCRIPT'
import zipfile
MAIN, RELATIONS = (f"http://purl.oclc.org/ooxml/{name}" for name in ("spreadsheetml/main", "officeDocument/relationships"))
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
types = "".join(
    f'<Override PartName="/xl/{part}" ContentType="{SHEET}.{kind}+xml"/>'
    for part, kind in (("workbook.xml", "sheet.main"), ("worksheets/sheet1.xml", "worksheet"), ("styles.xml", "styles"))
)
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
    f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{RELATIONS}/styles" Target="styles.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}" conformance="strict">'
    '<sheets><sheet name="Dates" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><fonts count="1"><font/></fonts>'
    '<fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
    "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1" s="1" t="d"><v>2026-01-05</v></c>'
    '<c r="B1" s="1" t="d"><v>2026-11-27</v></c><c r="C1" t="d"><v>2026-11-27</v></c></row></sheetData></worksheet>',
}
with zipfile.ZipFile("strict.xlsx", "w") as file:
    for name, text in PARTS.items():
        file.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')
SCRIPT
cat > read.py <<'SCRIPT'
import warnings
import openpyxl, python_calamine
print("calamine", *python_calamine.CalamineWorkbook.from_path("strict.xlsx").get_sheet_by_index(0).to_python()[0])
with warnings.catch_warnings(record=True):
    print("openpyxl", openpyxl.load_workbook("strict.xlsx").sheetnames)
SCRIPT
cat > read.js <<'SCRIPT'
import ExcelJS from 'exceljs';
const workbook = new ExcelJS.Workbook();
await workbook.xlsx.readFile('strict.xlsx');
const cells = workbook.worksheets[0].getRow(1).values.slice(1);
console.log('exceljs', ...cells.map((it) => (it instanceof Date ? it.toISOString().slice(0, 10) : it)));
SCRIPT
output=$(venv/bin/python write.py && venv/bin/python read.py && node read.js)
echo "$output"
grep -qx 'calamine 2026-01-05 2026-11-27 2026-11-27' <<<"$output"
grep -qx 'openpyxl \[\]' <<<"$output"
grep -qx 'exceljs 1905-07-18 1905-07-18 2026' <<<"$output"
echo 'as described'
