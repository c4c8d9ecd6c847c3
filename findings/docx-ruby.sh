#!/usr/bin/env bash
# mammoth 1.13.0 (Python and Node.js), markitdown 0.1.9 and python-docx 1.2.0: a Word document in which the name 東京 has its reading
# above it (phonetic guide, `w:ruby`), as in Japanese schoolbooks, forms and laws.
# Expected: the name is there, with or without the reading.
# Seen: neither is: "会議は東京で行う" (the meeting is in Tokyo) becomes "会議はで行う", without a message. docx2txt 0.9 and docx2python
# 3.7.1 give the reading before the name. mammoth does not know the element, and leaves out elements that it does not know with all they
# contain; python-docx takes the runs of a paragraph alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mammoth@1.13.0
python3 -m venv venv
venv/bin/pip install --quiet python-docx==1.2.0 'markitdown[docx]==0.1.9' mammoth==1.13.0 docx2txt==0.9 docx2python==3.7.1
cat > meeting.py <<'SCRIPT'
import docx
from docx.oxml import parse_xml
document = docx.Document()
paragraph = document.add_paragraph("会議は")
paragraph._p.append(parse_xml(
    '<w:r xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:ruby><w:rubyPr><w:rubyAlign w:val="distributeSpace"/>'
    '<w:hps w:val="10"/><w:hpsRaise w:val="18"/><w:hpsBaseText w:val="21"/><w:lid w:val="ja-JP"/></w:rubyPr>'
    "<w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r>"))
paragraph.add_run("で行う")
document.save("meeting.docx")
SCRIPT
cat > read.py <<'SCRIPT'
import docx, docx2python, docx2txt, mammoth, markitdown
with open("meeting.docx", "rb") as file:
    result = mammoth.convert_to_html(file)
print("mammoth.py", result.value, result.messages)
print("markitdown", markitdown.MarkItDown().convert("meeting.docx").text_content)
print("python-docx", docx.Document("meeting.docx").paragraphs[0].text)
print("docx2txt", docx2txt.process("meeting.docx").strip())
print("docx2python", docx2python.docx2python("meeting.docx").text.strip())
SCRIPT
cat > read.js <<'SCRIPT'
import mammoth from 'mammoth';
const { value, messages } = await mammoth.convertToHtml({ path: 'meeting.docx' });
console.log('mammoth.js', value, JSON.stringify(messages));
SCRIPT
output=$(venv/bin/python meeting.py && node read.js && venv/bin/python read.py 2>/dev/null)
echo "$output"
grep -qF 'mammoth.js <p>会議はで行う</p>' <<<"$output"
grep -qF 'mammoth.py <p>会議はで行う</p>' <<<"$output"
grep -qx 'markitdown 会議はで行う' <<<"$output"
grep -qx 'python-docx 会議はで行う' <<<"$output"
grep -qx 'docx2txt 会議はとうきょう東京で行う' <<<"$output"
grep -qx 'docx2python 会議はとうきょう東京で行う' <<<"$output"
echo 'as described'
