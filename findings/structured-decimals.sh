#!/usr/bin/env bash
# structured-headers 2.1.0 (Node.js): numbers in structured fields (RFC 9651), such as a quality or a share.
# Expected: 0.9999 is written as `1.0`, because a decimal has at most three digits and at least one after the point (section 4.1.5), as
# http-sf 1.5.0 for Python does.
# Seen: `1.`, which http-sf and structured-headers itself refuse, and with it the whole header. It is so for each number that
# rounding to three digits makes whole, such as 0.0004 and 5.00049; a decimal 1.0 that was read is written as the integer `1`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund structured-headers@2.1.0
python3 -m venv venv
venv/bin/pip install --quiet http-sf==1.5.0
cat > decimals.js <<'SCRIPT'
import { parseItem, serializeItem } from 'structured-headers';
const read = (text) => {
  try {
    return parseItem(text)[0];
  } catch {
    return 'refused';
  }
};
for (const number of [0.9999, 0.0004, 5.00049, 0.5]) {
  const text = serializeItem(number);
  console.log('structured-headers', number, text, read(text));
}
console.log('structured-headers', serializeItem(parseItem('1.0')));
SCRIPT
cat > decimals.py <<'SCRIPT'
import http_sf
print("http-sf", *(http_sf.ser(it) for it in (0.9999, 0.0004, 5.00049, 0.5)))
try:
    http_sf.parse(b"1.", tltype="item")
except ValueError:
    print("http-sf refuses 1.")
print("http-sf", http_sf.ser(http_sf.parse(b"1.0", tltype="item")))
SCRIPT
output=$(node decimals.js && venv/bin/python decimals.py)
echo "$output"
grep -qxF 'structured-headers 0.9999 1. refused' <<<"$output"
grep -qxF 'structured-headers 0.0004 0. refused' <<<"$output"
grep -qxF 'structured-headers 5.00049 5. refused' <<<"$output"
grep -qxF 'structured-headers 0.5 0.5 0.5' <<<"$output"
grep -qxF 'structured-headers 1' <<<"$output"
grep -qxF 'http-sf 1.0 0.0 5.0 0.5' <<<"$output"
grep -qxF 'http-sf refuses 1.' <<<"$output"
grep -qxF 'http-sf 1.0' <<<"$output"
echo 'as described'
