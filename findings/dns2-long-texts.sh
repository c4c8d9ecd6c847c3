#!/usr/bin/env bash
# dns2 3.0.0 (Node.js), a DNS server and client: a TXT record of 410 bytes, as a domain with a DKIM key of 2048 bits has it, and the AAAA record
# of the IPv4-mapped address ::ffff:192.0.2.1.
# Expected: the text is split into strings of at most 255 bytes, or refused; the address ends with the four bytes of 192.0.2.1.
# Seen: neither, and no error. The text is written as one string with the lower byte of its length, so that dnspython 2.9.2 calls the message
# malformed; an array of two parts is right. The address becomes ::255.255.1.146, as 192.0.2.1 is read as the hexadecimal number 192.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{}' > package.json
npm install --silent --no-audit --no-fund dns2@3.0.0
python3 -m venv venv
venv/bin/pip install --quiet dnspython==2.9.2
cat > write.cjs <<'SCRIPT'
const { Packet } = require('dns2');
const key = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`;
const RECORDS = {
  text: { type: Packet.TYPE.TXT, data: key },
  parts: { type: Packet.TYPE.TXT, data: [key.slice(0, 255), key.slice(255)] },
  address: { type: Packet.TYPE.AAAA, address: '2001:db8::1' },
  mapped: { type: Packet.TYPE.AAAA, address: '::ffff:192.0.2.1' },
};
for (const [name, record] of Object.entries(RECORDS)) {
  const packet = new Packet();
  packet.header.qr = 1;
  packet.answers.push({ name: 'a.example', class: Packet.CLASS.IN, ttl: 300, ...record });
  console.log(name, packet.toBuffer().toString('hex'));
}
SCRIPT
cat > read.py <<'SCRIPT'
import sys
import dns.exception, dns.message
for line in sys.stdin:
    name, message = line.split()
    try:
        data = dns.message.from_wire(bytes.fromhex(message)).answer[0][0]
        print(name, *([len(it) for it in data.strings] if name == "parts" else [data]))
    except dns.exception.FormError as error:
        print(name, error)
SCRIPT
output=$(node write.cjs | venv/bin/python read.py)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
text DNS message is malformed.
parts 255 155
address 2001:db8::1
mapped ::255.255.1.146
SCRIPT
echo 'as described'
