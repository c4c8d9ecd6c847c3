#!/usr/bin/env bash
# mammoth 1.13.0 (Node.js and Python), markitdown 0.1.9: a Word document whose numbered list goes on after a paragraph in between, as
# the clauses of a contract do.
# Expected: the third item has the number 3, as in LibreOffice 25.2, because its style belongs to the same list (`w:numId`).
# Seen: each run of items is a list of its own that starts at 1, without `start` and without a message. References such as
# "see clause 3" then point to nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mammoth@1.13.0
python3 -m venv venv
venv/bin/pip install --quiet python-docx==1.2.0 'markitdown[docx]==0.1.9' mammoth==1.13.0
cat > contract.py <<'SCRIPT'
import docx
document = docx.Document()
for text, style in (("Price", "List Number"), ("Delivery", "List Number"), ("The delivery is free.", None), ("Payment", "List Number")):
    document.add_paragraph(text, style)
document.save("contract.docx")
SCRIPT
cat > read.py <<'SCRIPT'
import mammoth, markitdown
with open("contract.docx", "rb") as file:
    result = mammoth.convert_to_html(file)
print("mammoth.py", result.value, result.messages)
print("markitdown", repr(markitdown.MarkItDown().convert("contract.docx").text_content))
SCRIPT
cat > read.js <<'SCRIPT'
import mammoth from 'mammoth';
const { value, messages } = await mammoth.convertToHtml({ path: 'contract.docx' });
console.log('mammoth.js', value, JSON.stringify(messages));
SCRIPT
output=$(venv/bin/python contract.py && node read.js && venv/bin/python read.py 2>/dev/null)
echo "$output"
html='<ol><li>Price</li><li>Delivery</li></ol><p>The delivery is free.</p><ol><li>Payment</li></ol>'
grep -qxF "mammoth.js $html []" <<<"$output"
grep -qxF "mammoth.py $html []" <<<"$output"
grep -qxF "markitdown '1. Price\\n2. Delivery\\n\\nThe delivery is free.\\n\\n1. Payment'" <<<"$output"
echo 'as described'
