#!/usr/bin/env bash
# docx2txt 0.9 (Python): a text box of a Word document. Word stores its text twice, as a shape and as VML for older programs, in the
# branches of one mc:AlternateContent, of which a reader takes one (ISO/IEC 29500-3).
# Expected: the text once, as mammoth 1.13.0 (Node.js) gives it.
# Seen: twice, so that an offer has the same total two times.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mammoth@1.13.0
python3 -m venv venv
venv/bin/pip install --quiet docx2txt==0.9
cat > boxes.py <<'SCRIPT'
import zipfile
import docx2txt
FORMATS = "http://schemas.openxmlformats.org"
TEXT = "<w:txbxContent><w:p><w:r><w:t>Total: 120 EUR</w:t></w:r></w:p></w:txbxContent>"
PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{FORMATS}/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml"
 ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{FORMATS}/package/2006/relationships"><Relationship Id="rId1" Target="word/document.xml"
 Type="{FORMATS}/officeDocument/2006/relationships/officeDocument"/></Relationships>""",
    "word/document.xml": f"""<w:document xmlns:w="{FORMATS}/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml"
 xmlns:mc="{FORMATS}/markup-compatibility/2006" xmlns:wp="{FORMATS}/drawingml/2006/wordprocessingDrawing"
 xmlns:a="{FORMATS}/drawingml/2006/main" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><w:body>
<w:p><w:r><w:t>Offer</w:t></w:r></w:p><w:p><w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:inline>
<wp:extent cx="1800000" cy="600000"/><wp:docPr id="1" name="Text Box 1"/><a:graphic>
<a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp><wps:cNvSpPr txBox="1"/><wps:spPr/>
<wps:txbx>{TEXT}</wps:txbx><wps:bodyPr/></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing></mc:Choice>
<mc:Fallback><w:pict><v:shape style="width:142pt;height:47pt"><v:textbox>{TEXT}</v:textbox></v:shape></w:pict></mc:Fallback>
</mc:AlternateContent></w:r></w:p></w:body></w:document>""",
}
with zipfile.ZipFile("box.docx", "w") as box:
    for name, text in PARTS.items():
        box.writestr(name, text)
print("docx2txt", *docx2txt.process("box.docx").split())
SCRIPT
cat > read.js <<'SCRIPT'
import mammoth from 'mammoth';
console.log('mammoth', ...(await mammoth.extractRawText({ path: 'box.docx' })).value.trim().split(/\s+/));
SCRIPT
output=$(venv/bin/python boxes.py && node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
docx2txt Offer Total: 120 EUR Total: 120 EUR
mammoth Offer Total: 120 EUR
LINES
echo 'as described'
