#!/usr/bin/env bash
# Node.js 24.21.0 and zstandard 0.25.0 (Python): Zstandard data of several frames, as `cat a.zst b.zst`, `zstd` appending to a log,
# and parallel or seekable compressors make it (RFC 8878, section 3: "one or more frames").
# Expected: Node.js decompresses all frames, as its gunzip does with all members of gzip data, and skips skippable frames.
# Seen: node:zlib and fetch give the first frame only, without an error, and nothing at all where a skippable frame comes first, as
# in each file of `pzstd`. Of zstandard, `open` reads all frames and `decompress` only the first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet zstandard==0.25.0
cat > frames.js <<'SCRIPT'
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { createZstdDecompress, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
const frames = Buffer.concat([zstdCompressSync('one '), zstdCompressSync('two')]);
// A skippable frame: its magic number, the size of its content, and the content, which has no meaning for a decompressor.
const skippable = Buffer.from('502a4d180400000000000000', 'hex');
writeFileSync('frames.zst', frames);
console.log('gzip:', String(gunzipSync(Buffer.concat([gzipSync('one '), gzipSync('two')]))));
console.log('zstd:', String(zstdDecompressSync(frames)));
console.log('skippable:', String(zstdDecompressSync(Buffer.concat([skippable, zstdCompressSync('one')]))));
const stream = createZstdDecompress();
stream.end(frames);
console.log('stream:', await text(stream));
const server = createServer((_, response) => response.setHeader('Content-Encoding', 'zstd').end(frames)).listen(0, '127.0.0.1');
await once(server, 'listening');
console.log('fetch:', await (await fetch(`http://127.0.0.1:${server.address().port}`)).text());
server.close();
server.closeAllConnections();
SCRIPT
cat > frames.py <<'SCRIPT'
import zstandard
print("zstandard open:", zstandard.open("frames.zst").read())
print("zstandard decompress:", zstandard.decompress(open("frames.zst", "rb").read()))
SCRIPT
output=$(npx node frames.js && venv/bin/python frames.py)
echo "$output"
grep -qx 'gzip: one two' <<<"$output"
grep -qx 'zstd: one ' <<<"$output"
grep -qx 'skippable: ' <<<"$output"
grep -qx 'stream: one ' <<<"$output"
grep -qx 'fetch: one ' <<<"$output"
grep -qx "zstandard open: b'one two'" <<<"$output"
grep -qx "zstandard decompress: b'one '" <<<"$output"
echo 'as described'
