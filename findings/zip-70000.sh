#!/usr/bin/env bash
# fflate 0.8.3 and jszip 3.10.2 (Node.js): an archive of 70,000 small files, more than the 65,535 that a ZIP file without the ZIP64 records
# can count (APPNOTE, section 4.4.22).
# Expected: ZIP64 records, as Python's zipfile and archivers write them, or an error.
# Seen: both write the number without its upper bits, 4464, without an error. fflate itself, adm-zip 0.6.1 and yauzl 3.4.0 find 4464 files
# in it; jszip and zipfile go on to the end of the directory and find 70,000. All read 70,000 from the archive that zipfile writes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund fflate@0.8.3 jszip@3.10.2 adm-zip@0.6.1 yauzl@3.4.0
cat > write.js <<'SCRIPT'
import { writeFileSync } from 'node:fs';
import { zipSync } from 'fflate';
import JSZip from 'jszip';
const names = Array.from({ length: 70_000 }, (_, index) => `${index}.txt`);
writeFileSync('fflate.zip', zipSync(Object.fromEntries(names.map((name) => [name, [new Uint8Array(1), { level: 0 }]]))));
const archive = new JSZip();
for (const name of names) archive.file(name, 'a');
writeFileSync('jszip.zip', await archive.generateAsync({ type: 'nodebuffer' }));
SCRIPT
cat > zipfiles.py <<'SCRIPT'
import zipfile
with zipfile.ZipFile("zipfile.zip", "w") as archive:
    for index in range(70_000):
        archive.writestr(f"{index}.txt", "a")
for name in "fflate", "jszip", "zipfile":
    print(name, "zipfile", len(zipfile.ZipFile(f"{name}.zip").namelist()))
SCRIPT
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import AdmZip from 'adm-zip';
import { unzipSync } from 'fflate';
import JSZip from 'jszip';
import yauzl from 'yauzl';
const READERS = {
  fflate: (bytes) => Object.keys(unzipSync(bytes)).length,
  jszip: async (bytes) => Object.keys((await JSZip.loadAsync(bytes)).files).length,
  'adm-zip': (bytes) => new AdmZip(bytes).getEntries().length,
  yauzl: (bytes) =>
    new Promise((done, fail) => yauzl.fromBuffer(bytes, (error, file) => (error ? fail(error) : done(file.entryCount)))),
};
for (const name of ['fflate', 'jszip', 'zipfile'])
  for (const [reader, count] of Object.entries(READERS)) console.log(name, reader, await count(readFileSync(`${name}.zip`)));
SCRIPT
output=$(node write.js && python3 zipfiles.py && node read.js)
echo "$output"
for name in fflate jszip; do
  [ "$(grep "^$name .* 4464$" <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'fflate adm-zip yauzl' ]
  [ "$(grep "^$name .* 70000$" <<<"$output" | cut -d ' ' -f 2 | xargs)" = 'zipfile jszip' ]
done
[ "$(grep -c '^zipfile .* 70000$' <<<"$output")" = 5 ]
echo 'as described'
