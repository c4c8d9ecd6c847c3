#!/usr/bin/env bash
# otplib 13.5.0 (Node.js) and pyotp 2.12.1 (Python): one-time passwords for secrets that `generateSecret()` of otplib 12.0.1 made
# by default, 16 letters for 10 bytes, as in many examples.
# Expected: after the upgrade, users who enrolled before can still log in.
# Seen: both refuse the secret, to verify a code as well as to make one. otplib 13 accepts it with guardrails that allow 10 bytes;
# pyotp has added its limit of 112 bits since version 2.9.0, which verifies the code.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund otplib@13.5.0 otplib12@npm:otplib@12.0.1
python3 -m venv venv
cat > verify.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { createGuardrails, verify } from 'otplib';
import before from 'otplib12';
const secret = before.authenticator.generateSecret();
const token = before.authenticator.clone({ epoch: 1_790_000_000_000 }).generate(secret);
const attempt = async (options) => {
  try {
    return (await verify({ secret, token, epoch: 1_790_000_000, ...options })).valid;
  } catch (error) {
    return error.message;
  }
};
writeFileSync('code.txt', `${secret} ${token}`);
console.log('otplib 13:', await attempt());
console.log('with guardrails:', await attempt({ guardrails: createGuardrails({ MIN_SECRET_BYTES: 10 }) }));
SCRIPT
cat > verify.py <<'SCRIPT'
import importlib.metadata
import pyotp
secret, token = open("code.txt").read().split()
try:
    seen = pyotp.TOTP(secret).at(1_790_000_000) == token
except ValueError as error:
    seen = error
print(f"pyotp {importlib.metadata.version('pyotp')}:", seen)
SCRIPT
output=$(
  node verify.js
  for version in 2.9.0 2.12.1; do
    venv/bin/pip install --quiet pyotp==$version
    venv/bin/python verify.py
  done
)
echo "$output"
grep -qx 'otplib 13: Secret must be at least 16 bytes (128 bits), got 10 bytes' <<<"$output"
grep -qx 'with guardrails: true' <<<"$output"
grep -qx 'pyotp 2.9.0: True' <<<"$output"
grep -qx 'pyotp 2.12.1: Secrets must be at least 112 bits after decoding' <<<"$output"
echo 'as described'
