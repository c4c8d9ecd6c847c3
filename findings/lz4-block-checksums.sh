#!/usr/bin/env bash
# lz4js 0.2.0 (Node.js) reads frames of lz4 4.4.5 (Python), as `lz4` writes them: with a checksum for each block (`lz4 -BX`), with one for the
# whole (the default of `lz4`) and with none.
# Expected: the data, or an error where an option is not supported.
# Seen: with checksums for the blocks, other bytes without an error. lz4js looks for the checksum before the block, where the frame format
# has it after the block, and so starts four bytes late. The others are right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{}' > package.json
npm install --silent --no-audit --no-fund lz4js@0.2.0
python3 -m venv venv
venv/bin/pip install --quiet lz4==4.4.5
cat > write.py <<'SCRIPT'
import lz4.frame
for name, options in (("none", {}), ("content", {"content_checksum": True}), ("block", {"block_checksum": True})):
    with open(name, "wb") as file:
        file.write(lz4.frame.compress(b"hello " * 50, **options))
    print("lz4", name, lz4.frame.decompress(open(name, "rb").read()) == b"hello " * 50)
SCRIPT
cat > read.cjs <<'SCRIPT'
const { readFileSync } = require('node:fs');
const { decompress } = require('lz4js');
for (const name of ['none', 'content', 'block']) {
  const bytes = Buffer.from(decompress(readFileSync(name)));
  console.log('lz4js', name, bytes.equals(Buffer.from('hello '.repeat(50))), JSON.stringify(bytes.toString('latin1', 0, 5)));
}
SCRIPT
output=$(venv/bin/python write.py && node read.cjs)
echo "$output"
for name in none content block; do grep -qxF "lz4 $name True" <<<"$output"; done
for name in none content; do grep -qxF "lz4js $name true \"hello\"" <<<"$output"; done
grep -q '^lz4js block false "o ' <<<"$output"
echo 'as described'
