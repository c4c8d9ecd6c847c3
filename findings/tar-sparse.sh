#!/usr/bin/env bash
# tar 7.5.23, tar-stream 3.2.2 and modern-tar 0.8.6 (Node.js): an archive of GNU tar with `--sparse` of a file of 1 MiB that is mostly a
# hole, such as the image of a disk or a database, in the format of GNU and in that of POSIX (pax).
# Expected: the file as it was, as Python's tarfile gives it, or an error or warning.
# Seen: of the format of GNU, tar leaves out the file without a warning, and the others give the parts with data, one after the other:
# 8192 bytes. Of pax, all give a file of another name, `GNUSparseFile.N/disk.img`, with the map of the parts and the parts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund tar@7.5.23 tar-stream@3.2.2 modern-tar@0.8.6
truncate -s 1M disk.img
printf 'first' | dd of=disk.img conv=notrunc status=none
printf 'last' | dd of=disk.img bs=1 seek=600000 conv=notrunc status=none
for format in gnu pax; do tar --create --sparse --format="$format" --file="$format.tar" disk.img; done
cat > read.py <<'SCRIPT'
import tarfile
for format in ("gnu", "pax"):
    with tarfile.open(f"{format}.tar") as archive:
        print("Python", format, *(f"{it.name} {len(archive.extractfile(it).read())}" for it in archive))
SCRIPT
cat > read.js <<'SCRIPT'
import { createReadStream, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { unpackTar } from 'modern-tar';
import { extract as extractStream } from 'tar-stream';
import { extract } from 'tar';
const plain = (name) => name.replace(/^\.\//, '').replace(/GNUSparseFile\.\d+/, 'GNUSparseFile.N');
for (const format of ['gnu', 'pax']) {
  const file = `${format}.tar`;
  mkdirSync(format);
  const warnings = [];
  await extract({ file, cwd: format, onwarn: (code) => warnings.push(code) });
  const found = readdirSync(format, { recursive: true }).filter((name) => statSync(`${format}/${name}`).isFile());
  console.log('tar', format, ...found.map((name) => `${plain(name)} ${statSync(`${format}/${name}`).size}`), `${warnings.length} warnings`);
  for await (const entry of createReadStream(file).pipe(extractStream()))
    console.log('tar-stream', format, plain(entry.header.name), (await buffer(entry)).length);
  for (const { header, data } of await unpackTar(readFileSync(file))) console.log('modern-tar', format, plain(header.name), data.length);
}
SCRIPT
output=$(python3 read.py && node read.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
Python gnu disk.img 1048576
Python pax disk.img 1048576
tar gnu 0 warnings
tar-stream gnu disk.img 8192
modern-tar gnu disk.img 8192
tar pax GNUSparseFile.N/disk.img 8704 0 warnings
tar-stream pax GNUSparseFile.N/disk.img 8704
modern-tar pax GNUSparseFile.N/disk.img 8704
LINES
echo 'as described'
