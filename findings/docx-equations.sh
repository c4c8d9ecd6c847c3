#!/usr/bin/env bash
# mammoth 1.13.0 (Node.js) and docx2txt 0.9 (Python): an equation within a sentence of a Word document, here a fee of 25/2.
# Expected: the characters of the equation in some order, at least 25 and 2.
# Seen: nothing of it, so that the sentence has no fee. docx2txt gives no sign of it, mammoth a warning.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mammoth@1.13.0
python3 -m venv venv
venv/bin/pip install --quiet docx2txt==0.9
cat > equations.py <<'SCRIPT'
import zipfile
import docx2txt
FORMATS = "http://schemas.openxmlformats.org"
PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{FORMATS}/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{FORMATS}/package/2006/relationships"><Relationship Id="rId1" Target="word/document.xml"
 Type="{FORMATS}/officeDocument/2006/relationships/officeDocument"/></Relationships>""",
    "word/document.xml": f"""<w:document xmlns:w="{FORMATS}/wordprocessingml/2006/main"
 xmlns:m="{FORMATS}/officeDocument/2006/math"><w:body><w:p><w:r><w:t>The fee is</w:t></w:r><m:oMath><m:f>
<m:num><m:r><m:t>25</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>
<w:r><w:t xml:space="preserve"> EUR.</w:t></w:r></w:p></w:body></w:document>""",
}
with zipfile.ZipFile("equation.docx", "w") as equation:
    for name, text in PARTS.items():
        equation.writestr(name, text)
print("docx2txt", docx2txt.process("equation.docx"))
SCRIPT
cat > read.js <<'SCRIPT'
import mammoth from 'mammoth';
const { value, messages } = await mammoth.extractRawText({ path: 'equation.docx' });
console.log('mammoth', value.trim(), messages.map((it) => it.message));
SCRIPT
output=$(venv/bin/python equations.py && node read.js)
echo "$output"
grep -qx 'docx2txt The fee is EUR\.' <<<"$output"
grep -q '^mammoth The fee is EUR\. ' <<<"$output"
echo 'as described'
