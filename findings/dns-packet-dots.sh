#!/usr/bin/env bash
# dns-packet 5.6.1: names with a dot within a label, as in DNS-SD: a printer may be called "Dr. Smith" (RFC 6763 section 4.1.1).
# Expected: `encode(decode(message))` has the same names, and `\.` in a name is a dot within a label, as in zone files and in dig.
# Seen: a label with a dot is decoded to the text of two labels, so that the encoded message has another name; `\.` is encoded as a
# label that ends with a backslash, so that no text at all stands for the name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund dns-packet@5.6.1
cat > names.js <<'SCRIPT'
import packet from 'dns-packet';

const wire = (...labels) =>
  Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]), Buffer.of(0)]);
const labelsOf = (bytes) => {
  const labels = [];
  for (let at = 0; bytes[at] > 0; at += bytes[at] + 1)
    labels.push(bytes.subarray(at + 1, at + 1 + bytes[at]).toString());
  return labels.join(' | ');
};

// A query for the PTR record of the service instance "Dr. Smith".
const service = wire('Dr. Smith', '_http', '_tcp', 'local');
const header = Buffer.from('000100000001000000000000', 'hex');
const query = Buffer.concat([header, service, Buffer.from('000c0001', 'hex')]);

const decoded = packet.decode(query);
console.log('received:', labelsOf(query.subarray(12)));
console.log('decoded:', decoded.questions[0].name);
console.log('encoded:', labelsOf(packet.encode(decoded).subarray(12)));
const escaped = { ...decoded, questions: [{ type: 'PTR', name: 'Dr\\. Smith._http._tcp.local' }] };
console.log('escaped:', labelsOf(packet.encode(escaped).subarray(12)));
SCRIPT
output=$(node names.js)
echo "$output"
grep -qx 'received: Dr. Smith | _http | _tcp | local' <<<"$output"
grep -qx 'decoded: Dr. Smith._http._tcp.local' <<<"$output"
grep -qx 'encoded: Dr |  Smith | _http | _tcp | local' <<<"$output"
grep -qx 'escaped: Dr\\ |  Smith | _http | _tcp | local' <<<"$output"
echo 'as described'
