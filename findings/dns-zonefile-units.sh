#!/usr/bin/env bash
# dns-zonefile 0.3.2 (Node.js): a zone file with times in units (`2h`), which BIND, NSD and exports of providers use, a record without a
# name, which belongs to the name before it (RFC 1035, section 5.1), and records of the types TLSA and HTTPS.
# Expected: the records that dnspython 2.9.2 (Python) reads, or an error.
# Seen: the units are cut off, so that a refresh of 2 hours becomes 2 seconds and an expiry of 2 weeks 2 seconds, also in the file that it
# generates. The record without a name goes to the root of the zone, and TLSA and HTTPS are missing, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund dns-zonefile@0.3.2
python3 -m venv venv
venv/bin/pip install --quiet dnspython==2.9.2
cat > zone.txt <<'ZONE'
$ORIGIN example.com.
$TTL 1h
@ IN SOA ns1 hostmaster ( 2026112801 2h 15m 2w 1h )
@ IN NS ns1
ns1 IN A 192.0.2.1
www IN A 192.0.2.2
    IN TXT "of www"
_443._tcp IN TLSA 3 1 1 2bb183af2f1b2d9ab4a1e2f1c4a5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7
@ IN HTTPS 1 . alpn=h2
ZONE
cat > zone.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import zonefile from 'dns-zonefile';
const zone = zonefile.parse(readFileSync('zone.txt', 'utf8'));
const { refresh, retry, expire, minimum } = zone.soa;
console.log('js times', refresh, retry, expire, minimum);
console.log('js text of', zone.txt[0].name);
console.log('js types', Object.keys(zone).filter((name) => !name.startsWith('$')).join(' '));
console.log('js generated', zonefile.parse(zonefile.generate(zone)).soa.expire);
SCRIPT
cat > zone.py <<'SCRIPT'
import dns.rdatatype, dns.zone
zone = dns.zone.from_file("zone.txt", origin="example.com.")
soa = zone.find_rdataset("@", "SOA")[0]
print("py times", soa.refresh, soa.retry, soa.expire, soa.minimum)
print("py text of", *[name for name, _, record in zone.iterate_rdatas("TXT")])
print("py types", *sorted({dns.rdatatype.to_text(rdataset.rdtype) for _, rdataset in zone.iterate_rdatasets()}))
SCRIPT
output=$(node zone.js && venv/bin/python zone.py)
echo "$output"
grep -qx 'js times 2 15 2 1' <<<"$output"
grep -qx 'js text of @' <<<"$output"
grep -qx 'js types soa ns a txt' <<<"$output"
grep -qx 'js generated 2' <<<"$output"
grep -qx 'py times 7200 900 1209600 3600' <<<"$output"
grep -qx 'py text of www' <<<"$output"
grep -qx 'py types A HTTPS NS SOA TLSA TXT' <<<"$output"
echo 'as described'
