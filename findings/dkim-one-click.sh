#!/usr/bin/env bash
# mailauth 7.1.0, dkimpy 1.1.8 and nodemailer 10.6.1: DKIM signatures with the default list of headers, of a message that can be
# unsubscribed from with one click (RFC 8058), which large mailbox providers demand of bulk mail since 2024.
# Expected: List-Unsubscribe and List-Unsubscribe-Post are both signed, as RFC 8058, section 4, requires.
# Seen: only nodemailer signs both. mailauth and dkimpy leave List-Unsubscribe-Post out, so that the mail does not meet RFC 8058
# unless the caller names the headers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mailauth@7.1.0 nodemailer@10.6.1
python3 -m venv venv
venv/bin/pip install --quiet dkimpy==1.1.8
cat > sign.js <<'SCRIPT'
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { createTransport } from 'nodemailer';
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
const headers = { 'List-Unsubscribe': '<https://example.com/u>', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' };
const mail = { from: 'a@example.com', to: 'b@example.org', subject: 'News', text: 'Hello', headers };
const build = async (options) =>
  (await createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...options }).sendMail(mail)).message;
const message = await build();
writeFileSync('key.pem', privateKey);
writeFileSync('message.eml', message);
writeFileSync('nodemailer.eml', await build({ dkim: { domainName: 'example.com', keySelector: 's', privateKey } }));
const { signatures } = await dkimSign(message, {
  signatureData: [{ signingDomain: 'example.com', selector: 's', privateKey }],
});
writeFileSync('mailauth.eml', Buffer.concat([Buffer.from(signatures), message]));
SCRIPT
cat > sign.py <<'SCRIPT'
import dkim, re
message = open("message.eml", "rb").read()
signature = dkim.sign(message, b"s", b"example.com", open("key.pem", "rb").read())
open("dkimpy.eml", "wb").write(signature + message)
for signer in "nodemailer", "mailauth", "dkimpy":
    header = re.search(rb"DKIM-Signature:(?:[^\r\n]|\r?\n[ \t])*", open(f"{signer}.eml", "rb").read())[0].decode()
    names = re.sub(r"\s", "", re.search(r"\bh=([^;]*)", header)[1]).lower().split(":")
    print(signer, *["signed" if name in names else "not signed" for name in ("list-unsubscribe", "list-unsubscribe-post")], sep=", ")
SCRIPT
output=$(node sign.js && venv/bin/python sign.py)
echo "$output"
grep -qx 'nodemailer, signed, signed' <<<"$output"
grep -qx 'mailauth, signed, not signed' <<<"$output"
grep -qx 'dkimpy, signed, not signed' <<<"$output"
echo 'as described'
