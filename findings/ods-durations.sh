#!/usr/bin/env bash
# pandas 3.1.1 with odfpy 1.4.1, and python-calamine 0.9.1: an OpenDocument spreadsheet with a total of 26:30 hours, a time value of more
# than a day (`PT26H30M00S`), as LibreOffice writes it in the format [HH]:MM.
# Expected: a duration, as both give for the same total in an Excel workbook.
# Seen: pandas gives an error for the whole file, because it parses the text that is shown as a time of day. calamine gives the text
# PT26H30M00S, beside 7:30 as a time of day, and so does pandas with `engine="calamine"`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pandas==3.1.1 odfpy==1.4.1 python-calamine==0.9.1 openpyxl==3.1.5
cat > hours.py <<'SCRIPT'
import datetime
import openpyxl, pandas, python_calamine
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P
document, table = OpenDocumentSpreadsheet(), Table(name="Hours")
workbook = openpyxl.Workbook()
for name, hours, minutes in (("Anna", 7, 30), ("Total", 26, 30)):
    row = TableRow()
    for text, attributes in ((name, {"valuetype": "string"}),
                             (f"{hours:02}:{minutes}", {"valuetype": "time", "timevalue": f"PT{hours:02}H{minutes}M00S"})):
        cell = TableCell(**attributes)
        cell.addElement(P(text=text))
        row.addElement(cell)
    table.addElement(row)
    workbook.active.append([name, datetime.timedelta(hours=hours, minutes=minutes)])
document.spreadsheet.addElement(table)
document.save("hours.ods")
workbook.save("hours.xlsx")
def read(file, engine):
    if engine == "python-calamine":
        values = python_calamine.CalamineWorkbook.from_path(file).get_sheet_by_index(0).to_python()
    else:
        values = pandas.read_excel(file, header=None, engine=engine).values.tolist()
    return [repr(row[1]) for row in values]
for file, engine in (("hours.xlsx", "openpyxl"), ("hours.xlsx", "python-calamine"), ("hours.ods", "odf"), ("hours.ods", "calamine"),
                     ("hours.ods", "python-calamine")):
    try:
        print(file, engine, "|", *read(file, engine))
    except ValueError as error:
        print(file, engine, "|", error)
SCRIPT
output=$(venv/bin/python hours.py)
echo "$output"
grep -qxF "hours.xlsx openpyxl | Timedelta('0 days 07:30:00') Timedelta('1 days 02:30:00')" <<<"$output"
grep -qxF 'hours.xlsx python-calamine | datetime.timedelta(seconds=27000) datetime.timedelta(days=1, seconds=9000)' <<<"$output"
grep -qxF 'hours.ods odf | hour must be in 0..23: 26:30' <<<"$output"
for engine in calamine python-calamine; do
  grep -qxF "hours.ods $engine | datetime.time(7, 30) 'PT26H30M00S'" <<<"$output"
done
echo 'as described'
