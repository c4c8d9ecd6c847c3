#!/usr/bin/env bash
# `EmailMessage` of Python 3.11 to 3.13, written with its policy for SMTP: a List-Unsubscribe with an address of over 77 characters, as one with
# a token, and a long id in References.
# Expected: the address as it is, in a long line or after a line break, as Django 5.2.19 and nodemailer 10.6.1 write it. Words of RFC 2047 are
# for texts and names, and not for these fields (section 5).
# Seen: address and id become encoded words, without an error, so that mailparser 3.14.2 and postal-mime 4.0.0 have no address to unsubscribe,
# as one-click unsubscription (RFC 8058) needs. An address of 77 characters stays.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund mailparser@3.14.2 postal-mime@4.0.0 nodemailer@10.6.1
python3 -m venv venv
venv/bin/pip install --quiet django==5.2.19
cat > write.py <<'SCRIPT'
import email.message, email.policy
from django.conf import settings
from django.core.mail import EmailMessage
settings.configure()
def fields(length):
    start = "<https://shop.example/unsubscribe/"
    return {"List-Unsubscribe": start + "a" * (length - len(start) - 1) + ">", "References": "<" + "b" * (length - 14) + "@mail.example>"}
for length in 77, 78:
    message = email.message.EmailMessage()
    for name, value in {"From": "news@shop.example", "To": "ann@example.com", "Subject": "News", **fields(length)}.items():
        message[name] = value
    message.set_content("News")
    open(f"EmailMessage-{length}.eml", "wb").write(message.as_bytes(policy=email.policy.SMTP))
message = EmailMessage("News", "News", "news@shop.example", ["ann@example.com"], headers=fields(78))
open("Django-78.eml", "wb").write(message.message().as_bytes(linesep="\r\n"))
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync, writeFileSync } from 'node:fs';
import { simpleParser } from 'mailparser';
import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
const url = 'https://shop.example/unsubscribe/'.padEnd(76, 'a');
const transport = createTransport({ streamTransport: true, buffer: true });
const sent = await transport.sendMail({ from: 'news@shop.example', to: 'ann@example.com', text: 'News', list: { unsubscribe: url } });
writeFileSync('nodemailer-78.eml', sent.message);
for (const name of ['EmailMessage-77', 'EmailMessage-78', 'Django-78', 'nodemailer-78']) {
  const data = readFileSync(`${name}.eml`);
  const field = String(data).replaceAll(/\r\n\s+/g, ' ').match(/^List-Unsubscribe:\s*(.*)$/m)[1];
  console.log(name, '|', `${field.slice(0, 36)}…`);
  console.log(name, '| mailparser', (await simpleParser(data)).headers.get('list').unsubscribe.url?.length);
  const header = (await PostalMime.parse(data)).headers.find(({ key }) => key === 'list-unsubscribe');
  console.log(name, '| postal-mime', header.value.includes('<https://'));
}
console.log(String(readFileSync('EmailMessage-78.eml')).match(/^References: .*$/m)[0].slice(0, 32));
SCRIPT
venv/bin/python write.py
output=$(node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
EmailMessage-77 | <https://shop.example/unsubscribe/aa…
EmailMessage-77 | mailparser 75
EmailMessage-77 | postal-mime true
EmailMessage-78 | =?utf-8?q?=3Chttps=3A//shop=2Eexampl…
EmailMessage-78 | mailparser undefined
EmailMessage-78 | postal-mime false
Django-78 | <https://shop.example/unsubscribe/aa…
Django-78 | mailparser 76
Django-78 | postal-mime true
nodemailer-78 | <https://shop.example/unsubscribe/aa…
nodemailer-78 | mailparser 76
nodemailer-78 | postal-mime true
References: =?utf-8?q?=3Cbbbbbbb
LINES
echo 'as described'
