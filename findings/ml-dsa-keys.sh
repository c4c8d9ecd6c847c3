#!/usr/bin/env bash
# Node.js 24.21.0 and cryptography 50.0.2 (Python): private keys of ML-DSA, the post-quantum signature of FIPS 204, as PKCS #8 (RFC 9881),
# which permits the seed, the expanded key, or both.
# Expected: each reads what the other writes.
# Seen: `export` of Node.js writes both forms, which cryptography refuses with "Could not deserialize key data"; cryptography writes the
# seed alone, which Node.js reads. WebCrypto of the same Node.js exports the seed alone, which cryptography reads.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet cryptography==50.0.2
cat > write.js <<'SCRIPT'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
if (process.argv[2]) {
  console.log('Node.js reads', createPrivateKey(readFileSync(process.argv[2])).asymmetricKeyType);
} else {
  const { privateKey } = generateKeyPairSync('ml-dsa-65');
  writeFileSync('node.der', privateKey.export({ type: 'pkcs8', format: 'der' }));
  const key = await crypto.subtle.generateKey({ name: 'ML-DSA-65' }, true, ['sign', 'verify']);
  writeFileSync('web.der', Buffer.from(await crypto.subtle.exportKey('pkcs8', key.privateKey)));
}
SCRIPT
cat > read.py <<'SCRIPT'
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import mldsa
for name in "node", "web":
    data = open(f"{name}.der", "rb").read()
    try:
        print(name, len(data), type(serialization.load_der_private_key(data, None)).__name__)
    except ValueError as error:
        print(name, len(data), str(error)[:35])
key = mldsa.MLDSA65PrivateKey.generate()
pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
open("python.pem", "wb").write(pem)
SCRIPT
export NODE_NO_WARNINGS=1
output=$(node_modules/.bin/node write.js && venv/bin/python read.py && node_modules/.bin/node write.js python.pem)
echo "$output"
grep -qx 'node 4098 Could not deserialize key data. The' <<<"$output"
grep -qx 'web 54 MLDSA65PrivateKey' <<<"$output"
grep -qx 'Node.js reads ml-dsa-65' <<<"$output"
echo 'as described'
