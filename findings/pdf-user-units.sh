#!/usr/bin/env bash
# A PDF page of 100 x 50 units with /UserUnit 2 (PDF 1.6), as CAD programs write pages beyond 200 inches.
# Expected: pypdfium2 5.15.2, pymupdf 2.0 and pdfjs-dist 6.2.108 give and draw a page of 200 x 100 points.
# Seen: PDFium, the library of Chrome, takes the page for 100 x 50 points and draws it at half its size, whereas MuPDF and PDF.js
# follow the unit. A plan that is rendered at a resolution, or measured, is right or wrong by that factor, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund pdfjs-dist@6.2.108 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet pypdfium2==5.15.2 pymupdf==2.0 pypdf==7.1.1
cat > unit.py <<'SCRIPT'
import pymupdf, pypdf, pypdfium2
from pypdf.generic import FloatObject, NameObject
writer = pypdf.PdfWriter()
writer.add_blank_page(100, 50)[NameObject("/UserUnit")] = FloatObject(2)
writer.write("plan.pdf")
page = pypdfium2.PdfDocument("plan.pdf")[0]
bitmap = page.render(scale=1)
print("pdfium", *page.get_size(), bitmap.width, bitmap.height)
page = pymupdf.open("plan.pdf")[0]
pixmap = page.get_pixmap()
print("mupdf", page.rect.width, page.rect.height, pixmap.width, pixmap.height)
SCRIPT
cat > unit.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
const { promise } = getDocument({ data: new Uint8Array(readFileSync('plan.pdf')), verbosity: 0 });
const { width, height } = (await (await promise).getPage(1)).getViewport({ scale: 1 });
console.log('pdf.js', width, height);
SCRIPT
output=$(venv/bin/python unit.py && npx node unit.js)
echo "$output"
grep -qx 'pdfium 100.0 50.0 100 50' <<<"$output"
grep -qx 'mupdf 200.0 100.0 200 100' <<<"$output"
grep -qx 'pdf.js 200 100' <<<"$output"
echo 'as described'
