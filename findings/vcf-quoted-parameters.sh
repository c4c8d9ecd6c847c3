#!/usr/bin/env bash
# vcf 2.1.2 (Node.js): an address with a position (`GEO="geo:…"`) and a label as quoted parameters, as RFC 6350, section 6.3.1, has them in
# its example.
# Expected: the street is "1 Example Road", as vobject 0.9.9 (Python) and vcard4 4.0.5 (Node.js) have it.
# Seen: the value begins at the first colon within the quotes, so that it holds the position and the label, and the street is empty.
# vcard4 splits the label at its comma.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund vcf@2.1.2 vcard4@4.0.5
python3 -m venv venv
venv/bin/pip install --quiet vobject==0.9.9
cat > card.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { parse } from 'vcard4';
import vcf from 'vcf';
const label = 'Example Ltd., Sales\\n1 Example Road\\nExampletown';
const address = `ADR;GEO="geo:48.2,16.37";LABEL="${label}":;;1 Example Road;Exampletown;;12345;Austria`;
const lines = ['BEGIN:VCARD', 'VERSION:4.0', 'FN:Example Ltd.', address, 'END:VCARD', ''];
writeFileSync('card.vcf', lines.join('\r\n'));
const [card] = vcf.parse(lines.join('\r\n'));
console.log('vcf:', card.get('adr').valueOf().split(';')[2]);
console.log('vcf:', card.get('adr').valueOf().slice(0, 31));
const { value, parameters } = parse(lines.join('\r\n')).parsedVcard.find((it) => it.property === 'ADR');
console.log('vcard4:', value.streetAddress, '| label in', [parameters.LABEL].flat().length, 'parts');
SCRIPT
cat > card.py <<'SCRIPT'
import vobject
with open("card.vcf", newline="") as file:
    address = vobject.readOne(file).adr
print("vobject:", address.value.street, "| label in", len(address.params["LABEL"]), "parts")
SCRIPT
output=$(node card.js && venv/bin/python card.py)
echo "$output"
grep -qxF 'vcf: ' <<<"$output"
grep -qxF 'vcf: 48.2,16.37";LABEL="Example Ltd.' <<<"$output"
grep -qxF 'vcard4: 1 Example Road | label in 2 parts' <<<"$output"
grep -qxF 'vobject: 1 Example Road | label in 1 parts' <<<"$output"
echo 'as described'
