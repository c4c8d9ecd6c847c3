#!/usr/bin/env bash
# exceljs 4.4.0, officeparser 8.1.1 (Node.js) and openpyxl 3.1.5 (Python): a workbook with a picture in a cell ("Place in Cell" of
# Excel), as `embed_image` of XlsxWriter 3.3.1 writes it.
# Expected: the picture, or an empty cell, as python-calamine 0.9.1 gives.
# Seen: the text or error "#VALUE!", which the file holds for programs that do not know such pictures; exceljs lists no picture of the
# sheet. When openpyxl saves the workbook again, the picture is gone and the cell shows #VALUE!.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund officeparser@8.1.1 exceljs@4.4.0
python3 -m venv venv
venv/bin/pip install --quiet openpyxl==3.1.5 python-calamine==0.9.1 XlsxWriter==3.3.1 pillow==13.0.0
cat > catalogue.py <<'SCRIPT'
import zipfile
import openpyxl, python_calamine, xlsxwriter
from PIL import Image
Image.new("RGB", (40, 20), "red").save("red.png")
with xlsxwriter.Workbook("catalogue.xlsx") as workbook:
    sheet = workbook.add_worksheet()
    sheet.write("A1", "Red")
    sheet.embed_image("B1", "red.png")
print("calamine", python_calamine.CalamineWorkbook.from_path("catalogue.xlsx").get_sheet_by_index(0).to_python()[0])
workbook = openpyxl.load_workbook("catalogue.xlsx")
print("openpyxl", [it.value for it in workbook.active[1]])
workbook.save("saved.xlsx")
pictures = lambda name: [it for it in zipfile.ZipFile(name).namelist() if it.startswith("xl/media/")]
print("pictures", pictures("catalogue.xlsx"), pictures("saved.xlsx"))
SCRIPT
cat > catalogue.js <<'SCRIPT'
import ExcelJS from 'exceljs';
import { parseOffice } from 'officeparser';
const workbook = new ExcelJS.Workbook();
await workbook.xlsx.readFile('catalogue.xlsx');
const [sheet] = workbook.worksheets;
console.log('exceljs', JSON.stringify(sheet.getCell('B1').value), sheet.getImages().length);
const { value } = await (await parseOffice('catalogue.xlsx')).to('text');
console.log('officeparser', JSON.stringify(value));
SCRIPT
output=$(venv/bin/python catalogue.py && node catalogue.js)
echo "$output"
grep -qxF "calamine ['Red', '']" <<<"$output"
grep -qxF "openpyxl ['Red', '#VALUE!']" <<<"$output"
grep -qxF "pictures ['xl/media/image1.png'] []" <<<"$output"
grep -qxF 'exceljs {"error":"#VALUE!"} 0' <<<"$output"
grep -qF '#VALUE!' <<<"$(grep '^officeparser' <<<"$output")"
echo 'as described'
