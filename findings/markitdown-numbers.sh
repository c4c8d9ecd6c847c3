#!/usr/bin/env bash
# markitdown 0.1.9 (Python): a workbook with numbers of invoices and customers, one of which is missing, and texts such as "NA".
# Expected: the cells as they are in the workbook.
# Seen: a column of whole numbers with an empty cell gets decimals ("1001.0"), empty cells become "NaN", and so do the texts "NA" (the
# code of Namibia) and "None". A vertical bar in a text is not escaped, so that the table gets a column more in this row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet 'markitdown[xlsx]==0.1.9' XlsxWriter==3.3.1 pandas==3.1.1
cat > invoices.py <<'SCRIPT'
import markitdown, xlsxwriter
with xlsxwriter.Workbook("invoices.xlsx") as workbook:
    sheet = workbook.add_worksheet()
    for row, cells in enumerate((("invoice", "customer", "country"), (261, 1001, "NA"), (262, None, "DE|AT"), (263, 1003, "None"))):
        sheet.write_row(row, 0, cells)
print(markitdown.MarkItDown().convert("invoices.xlsx").text_content)
SCRIPT
output=$(venv/bin/python invoices.py 2>/dev/null)
echo "$output"
grep -qxF '| 261 | 1001.0 | NaN |' <<<"$output"
grep -qxF '| 262 | NaN | DE|AT |' <<<"$output"
grep -qxF '| 263 | 1003.0 | NaN |' <<<"$output"
echo 'as described'
