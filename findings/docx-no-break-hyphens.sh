#!/usr/bin/env bash
# officeparser 8.1.1 and docx2txt 0.9: the non-breaking hyphen of Word (Ctrl+Shift+_, `w:noBreakHyphen`), here in a document that
# docx 9.15.2 wrote.
# Expected: the extracted text has a hyphen there, as with mammoth 1.13.0 and python-docx 1.2.0.
# Seen: the hyphen is dropped, so that 2024-11 becomes the number 202411 and a part A-12 becomes A12.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund docx@9.15.2 officeparser@8.1.1 mammoth@1.13.0
python3 -m venv venv
venv/bin/pip install --quiet docx2txt==0.9 python-docx==1.2.0
cat > text.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { Document, NoBreakHyphen, Packer, Paragraph, TextRun } from 'docx';
import mammoth from 'mammoth';
import { OfficeParser } from 'officeparser';
const run = new TextRun({ children: ['Part A', new NoBreakHyphen(), '12 of 2024', new NoBreakHyphen(), '11'] });
writeFileSync('part.docx', await Packer.toBuffer(new Document({ sections: [{ children: [new Paragraph({ children: [run] })] }] })));
console.log('mammoth', (await mammoth.extractRawText({ path: 'part.docx' })).value.trim());
console.log('officeparser', (await OfficeParser.parseOffice('part.docx')).content[0].text);
SCRIPT
cat > text.py <<'SCRIPT'
import docx, docx2txt
print("python-docx", docx.Document("part.docx").paragraphs[0].text)
print("docx2txt", docx2txt.process("part.docx"))
SCRIPT
output=$(node text.js && venv/bin/python text.py)
echo "$output"
grep -qx 'mammoth Part A‑12 of 2024‑11' <<<"$output"
grep -qx 'python-docx Part A-12 of 2024-11' <<<"$output"
grep -qx 'officeparser Part A12 of 202411' <<<"$output"
grep -qx 'docx2txt Part A12 of 202411' <<<"$output"
echo 'as described'
