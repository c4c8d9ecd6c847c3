#!/usr/bin/env bash
# pypdfium2 5.15.2 (PDFium 159.0.8149.0): the text of a page where a line ends with a hyphen, as in "well-known" or a part "A-B12".
# Expected: the hyphen and a line break, as pymupdf 2.0 and pypdf 7.1.1 give.
# Seen: the hyphen and the line break are replaced by one character, U+FFFE by `get_text_range` and U+0002 by `get_text_bounded`.
# XML allows neither, and a search for either word fails. Before a digit, as in "12-34", the text is as expected.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pypdfium2==5.15.2 pymupdf==2.0 pypdf==7.1.1
cat > text.py <<'SCRIPT'
import io
import pymupdf, pypdf, pypdfium2
document = pymupdf.open()
page = document.new_page(width=200, height=100)
for number, line in enumerate(("a well-", "known part A-", "B12, pages 12-", "34")):
    page.insert_text((20, 30 + 14 * number), line)
data = document.tobytes()
page = pypdfium2.PdfDocument(data)[0].get_textpage()
texts = {
    "pymupdf": document[0].get_text(),
    "pypdf": pypdf.PdfReader(io.BytesIO(data)).pages[0].extract_text(),
    "range": page.get_text_range(),
    "bounded": page.get_text_bounded(),
}
for name, text in texts.items():
    print(name, ascii(text.strip().replace("\r\n", "\n")))
SCRIPT
output=$(venv/bin/python text.py)
echo "$output"
grep -qxF "pymupdf 'a well-\nknown part A-\nB12, pages 12-\n34'" <<<"$output"
grep -qxF "pypdf 'a well-\nknown part A-\nB12, pages 12-\n34'" <<<"$output"
grep -qxF "range 'a well\ufffeknown part A\ufffeB12, pages 12-\n34'" <<<"$output"
grep -qxF "bounded 'a well\x02known part A\x02B12, pages 12-\n34'" <<<"$output"
echo 'as described'
