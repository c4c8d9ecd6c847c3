#!/usr/bin/env bash
# docx2txt 0.9 and docx2python 3.7.1 (Python), officeparser 8.1.1 (Node.js): a Word document in which a clause was moved with changes tracked,
# and a price was changed.
# Expected: the text as the document stands now, with the clause once, at its new place, since none of them gives the deleted price.
# Seen: the two for Python give the clause twice, at its old place, too. Word marks what was deleted with an element of its own for the text, but
# not what was moved away. officeparser gives it once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund officeparser@8.1.1
python3 -m venv venv
venv/bin/pip install --quiet docx2txt==0.9 docx2python==3.7.1 python-docx==1.2.0
cat > read.py <<'SCRIPT'
import docx, docx2python, docx2txt
from docx.oxml import parse_xml
document = docx.Document()
space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
author = 'w:author="A" w:date="2026-11-02T09:00:00Z"'
moved = "<w:r><w:t>Clause A.</w:t></w:r>"
for paragraph in (
    f'<w:moveFromRangeStart w:id="1" w:name="move1" {author}/><w:moveFrom w:id="2" {author}>{moved}</w:moveFrom><w:moveFromRangeEnd w:id="1"/>',
    "<w:r><w:t>Clause B.</w:t></w:r>",
    f'<w:moveToRangeStart w:id="3" w:name="move1" {author}/><w:moveTo w:id="4" {author}>{moved}</w:moveTo><w:moveToRangeEnd w:id="3"/>',
    f'<w:r><w:t>Price: </w:t></w:r><w:del w:id="5" {author}><w:r><w:delText>100</w:delText></w:r></w:del>'
    f'<w:ins w:id="6" {author}><w:r><w:t>200</w:t></w:r></w:ins>',
):
    document.element.body.insert(-1, parse_xml(f"<w:p {space}>{paragraph}</w:p>"))
document.save("contract.docx")
print("docx2txt:", " ".join(docx2txt.process("contract.docx").split()))
print("docx2python:", " ".join(docx2python.docx2python("contract.docx").text.split()))
SCRIPT
cat > read.js <<'SCRIPT'
import { OfficeParser } from 'officeparser';
const { content } = await OfficeParser.parseOffice('contract.docx');
console.log('officeparser:', content.map(({ text }) => text.trim()).filter((text) => text !== '').join(' '));
SCRIPT
output=$(venv/bin/python read.py && node read.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
docx2txt: Clause A. Clause B. Clause A. Price: 200
docx2python: Clause A. Clause B. Clause A. Price: 200
officeparser: Clause B. Clause A. Price: 200
SCRIPT
echo 'as described'
