#!/usr/bin/env bash
# pypdfium2 5.15.2 (PDFium), pdfjs-dist 6.2.108 and PyMuPDF 2.0: the text of a page with a layer (optional content group) that is off.
# Expected: programs that draw a page without the layer leave its text out as well.
# Seen: PDFium draws nothing of the layer, but gives its text, and so does PDF.js; only MuPDF leaves it out. Prices or remarks of
# another version of a document get into a search index.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund pdfjs-dist@6.2.108
python3 -m venv venv
venv/bin/pip install --quiet pikepdf==10.18.0 pymupdf==2.0 pypdfium2==5.15.2 pillow==13.0.0
cat > write.py <<'SCRIPT'
import pikepdf
from pikepdf import Dictionary, Name
file = pikepdf.new()
page = file.add_blank_page(page_size=(200, 100))
layer = file.make_indirect(Dictionary(Type=Name.OCG, Name="Remarks"))
file.Root.OCProperties = Dictionary(OCGs=[layer], D=Dictionary(OFF=[layer]))
font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
page.Resources = Dictionary(Font=Dictionary(F=font), Properties=Dictionary(L=layer))
page.Contents = file.make_stream(
    b"BT /F 20 Tf 20 60 Td (Shown) Tj ET /OC /L BDC BT /F 20 Tf 20 20 Td (Hidden) Tj ET EMC"
)
file.save("layer.pdf")
SCRIPT
cat > mupdf.py <<'SCRIPT'
import pymupdf
print("MuPDF", *pymupdf.open("layer.pdf")[0].get_text().split())
SCRIPT
cat > pdfium.py <<'SCRIPT'
import pypdfium2
file = pypdfium2.PdfDocument("layer.pdf")
page = file[0]
text = page.get_textpage()
print("PDFium", *text.get_text_range().split())
picture = page.render().to_pil().convert("L")
halves = {"upper": (0, 0, 200, 50), "lower": (0, 50, 200, 100)}
print("PDFium draws", *(name for name, box in halves.items() if picture.crop(box).getextrema()[0] < 255))
SCRIPT
cat > pdfjs.js <<'SCRIPT'
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
const file = await getDocument({ url: 'layer.pdf', verbosity: 0 }).promise;
const { items } = await (await file.getPage(1)).getTextContent();
console.log('PDF.js', ...items.map((it) => it.str).filter(Boolean));
SCRIPT
output=$(venv/bin/python write.py && venv/bin/python mupdf.py && venv/bin/python pdfium.py && node pdfjs.js 2>/dev/null)
echo "$output"
grep -qxF 'MuPDF Shown' <<<"$output"
grep -qxF 'PDFium Shown Hidden' <<<"$output"
grep -qxF 'PDFium draws upper' <<<"$output"
grep -qxF 'PDF.js Shown Hidden' <<<"$output"
echo 'as described'
