#!/usr/bin/env bash
# pikepdf 10.18.0 (qpdf), PyMuPDF 2.0 (MuPDF), pypdf 7.1.1, pypdfium2 5.15.2 (PDFium) and pdfjs-dist 6.2.108: page labels with
# letters (/S /A), as appendices have them.
# Expected: all give page 28 the same label.
# Seen: "AB" from pikepdf and MuPDF, as columns of a spreadsheet, and "BB" from the others, as ISO 32000-2, section 12.4.2,
# says: A to Z for 26 pages, then AA to ZZ for the next 26. Page 54 is "BB" for the former and "BBB" for the latter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund pdfjs-dist@6.2.108
python3 -m venv venv
venv/bin/pip install --quiet pikepdf==10.18.0 pymupdf==2.0 pypdf==7.1.1 pypdfium2==5.15.2
cat > labels.py <<'SCRIPT'
import pikepdf, pymupdf, pypdf, pypdfium2
file = pikepdf.new()
for _ in range(54):
    file.add_blank_page()
file.Root.PageLabels = pikepdf.Dictionary(Nums=[0, pikepdf.Dictionary(S=pikepdf.Name.A)])
file.save("letters.pdf")
pages = (0, 25, 26, 27, 53)
with pikepdf.open("letters.pdf") as file:
    print("pikepdf", *(file.pages[it].label for it in pages))
mupdf, pdfium = pymupdf.open("letters.pdf"), pypdfium2.PdfDocument("letters.pdf")
print("MuPDF", *(mupdf[it].get_label() for it in pages))
print("pypdf", *(pypdf.PdfReader("letters.pdf").page_labels[it] for it in pages))
print("PDFium", *(pdfium.get_page_label(it) for it in pages))
SCRIPT
cat > labels.js <<'SCRIPT'
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
const file = await getDocument({ url: 'letters.pdf', verbosity: 0 }).promise;
const labels = await file.getPageLabels();
console.log('PDF.js', ...[0, 25, 26, 27, 53].map((it) => labels[it]));
SCRIPT
output=$(venv/bin/python labels.py && node labels.js 2>/dev/null)
echo "$output"
for name in pikepdf MuPDF; do
  grep -qxF "$name A Z AA AB BB" <<<"$output"
done
for name in pypdf PDFium PDF.js; do
  grep -qxF "$name A Z AA BB BBB" <<<"$output"
done
echo 'as described'
