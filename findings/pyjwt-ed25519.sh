#!/usr/bin/env bash
# jose 6.2.18 (Node.js) signs with `Ed25519`, the name that RFC 9864 has had for the algorithm since 2025, when it deprecated
# `EdDSA`; PyJWT 2.15.1 and joserfc 1.8.0 (Python) verify.
# Expected: both verify both names.
# Seen: PyJWT verifies `EdDSA` only. Of a key set whose keys state "alg": "Ed25519" it says that no key is usable and "Perhaps
# 'cryptography' is not installed?", though it is. joserfc verifies both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund jose@6.2.18
python3 -m venv venv
venv/bin/pip install --quiet 'pyjwt[crypto]==2.15.1' joserfc==1.8.0
cat > sign.js <<'SCRIPT'
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
const { privateKey, publicKey } = await generateKeyPair('Ed25519', { extractable: true });
const sign = (alg) => new SignJWT({ sub: 'me' }).setProtectedHeader({ alg }).sign(privateKey);
console.log(JSON.stringify({ key: await exportJWK(publicKey), Ed25519: await sign('Ed25519'), EdDSA: await sign('EdDSA') }));
SCRIPT
cat > verify.py <<'SCRIPT'
import json, sys
import jwt
from joserfc import jwk
from joserfc import jwt as joserfc
signed = json.load(sys.stdin)
def attempt(name, verify):
    try:
        print(name, "verifies", verify()["sub"])
    except Exception as error:
        print(name, type(error).__name__, error)
key = jwt.PyJWK(signed["key"], "EdDSA").key
for alg in "EdDSA", "Ed25519":
    attempt(f"PyJWT {alg}", lambda: jwt.decode(signed[alg], key, algorithms=["EdDSA", "Ed25519"]))
    attempt(f"joserfc {alg}", lambda: joserfc.decode(signed[alg], jwk.OKPKey.import_key(signed["key"]), algorithms=[alg]).claims)
attempt("PyJWT set", lambda: jwt.PyJWKSet.from_dict({"keys": [{**signed["key"], "kid": "a", "alg": "Ed25519"}]}))
SCRIPT
output=$(node sign.js | venv/bin/python verify.py 2>/dev/null)
echo "$output"
grep -qx 'PyJWT EdDSA verifies me' <<<"$output"
grep -qx 'PyJWT Ed25519 InvalidAlgorithmError Algorithm not supported' <<<"$output"
grep -qx 'joserfc EdDSA verifies me' <<<"$output"
grep -qx 'joserfc Ed25519 verifies me' <<<"$output"
grep -q "^PyJWT set PyJWKSetError .* Perhaps 'cryptography' is not installed?" <<<"$output"
echo 'as described'
