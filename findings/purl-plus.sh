#!/usr/bin/env bash
# packageurl-js 2.0.1 (Node.js) and packageurl-python 0.17.6 (Python): package URLs, which tools compare as text to find the vulnerabilities
# of a package.
# Expected: the same canonical text. ECMA-427 percent-encodes all characters but letters, digits, `.-_~` and, in some places, `:` and `/`.
# Seen: packageurl-js leaves a plus sign in versions, which Debian's updates have (`deb12u1`), and Python encodes it, so that the texts
# differ. A plus sign in a qualifier is read as a space by packageurl-js and as a plus sign by Python.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund packageurl-js@2.0.1 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet packageurl-python==0.17.6
cat > purl.js <<'SCRIPT'
import { PackageURL } from 'packageurl-js';
console.log('js', new PackageURL('deb', 'debian', 'curl', '7.88.1-10+deb12u12', null, null).toString());
console.log('js', PackageURL.fromString('pkg:generic/tool@1.0?tag=a+b').qualifiers.tag);
SCRIPT
cat > purl.py <<'SCRIPT'
from packageurl import PackageURL
print("py", PackageURL("deb", "debian", "curl", "7.88.1-10+deb12u12").to_string())
print("py", PackageURL.from_string("pkg:generic/tool@1.0?tag=a+b").qualifiers["tag"])
SCRIPT
output=$(node_modules/.bin/node purl.js && venv/bin/python purl.py)
echo "$output"
grep -qxF 'js pkg:deb/debian/curl@7.88.1-10+deb12u12' <<<"$output"
grep -qxF 'py pkg:deb/debian/curl@7.88.1-10%2Bdeb12u12' <<<"$output"
grep -qxF 'js a b' <<<"$output"
grep -qxF 'py a+b' <<<"$output"
echo 'as described'
