#!/usr/bin/env bash
# hash.js 1.1.7 (Node.js), on which elliptic and many other packages build: the SHA-256 of 512 MiB. It takes about a minute.
# Expected: the hash of node:crypto and sha.js 2.4.12, as the length of the message is counted in 64 bits (FIPS 180-4, section 5.1.1).
# Seen: another hash, without an error, because it counts the bits in 32 bits. For a MiB less, all agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund hash.js@1.1.7 sha.js@2.4.12
cat > count.js <<'SCRIPT'
import { createHash } from 'node:crypto';
import hash from 'hash.js';
import sha from 'sha.js';
const chunk = Buffer.alloc(2 ** 20);
const count = (hasher, chunks) => {
  for (let index = 0; index < chunks; index++) hasher.update(chunk);
  return hasher;
};
// hash.js has no copy(): its fields hold the whole state.
const copied = (hasher) => Object.assign(Object.create(Object.getPrototypeOf(hasher)), structuredClone({ ...hasher }));
const slow = count(hash.sha256(), 511);
const found = { 511: copied(slow), 512: count(slow, 1) };
for (const size of [511, 512]) {
  const right = count(createHash('sha256'), size).digest('hex');
  console.log(size, 'sha.js', count(sha('sha256'), size).digest('hex') === right);
  console.log(size, 'hash.js', found[size].digest('hex') === right);
}
SCRIPT
output=$(node count.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
511 sha.js true
511 hash.js true
512 sha.js true
512 hash.js false
LINES
echo 'as described'
