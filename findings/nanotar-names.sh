#!/usr/bin/env bash
# nanotar 0.3.0 (Node.js): archives that tar 7.5.23 (Node.js), the packer of npm, and tarfile of Python 3 write, with a long path or a link.
# Expected: the names of the entries, as modern-tar 0.8.6 gives them.
# Seen: of a path longer than 100 characters, nanotar leaves out the part in the field `prefix`, which POSIX ustar provides for it:
# `lib/…/index.js` becomes `index.js`, so that files of several folders get one name. A symbolic link whose target is longer than 100
# characters has the target as its name, in the formats pax and GNU.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund nanotar@0.3.0 modern-tar@0.8.6 tar@7.5.23
cat > write.py <<'SCRIPT'
import io, sys, tarfile
for name, form in (("ustar", tarfile.USTAR_FORMAT), ("pax", tarfile.PAX_FORMAT), ("gnu", tarfile.GNU_FORMAT)):
    with tarfile.open(f"{name}.tar", "w", format=form) as archive:
        if name == "ustar":
            archive.addfile(tarfile.TarInfo(f"lib/{'long' * 20}/{'name' * 10}/index.js"), io.BytesIO())
        else:
            link = tarfile.TarInfo("current")
            link.type, link.linkname = tarfile.SYMTYPE, f"releases/{'long' * 30}"
            archive.addfile(link)
SCRIPT
cat > read.js <<'SCRIPT'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { unpackTar } from 'modern-tar';
import { parseTar } from 'nanotar';
import { create } from 'tar';
const path = `lib/${'long'.repeat(20)}/${'name'.repeat(10)}`;
mkdirSync(path, { recursive: true });
writeFileSync(`${path}/index.js`, '');
await create({ file: 'npm.tar', portable: true }, [`${path}/index.js`]);
const short = (name) => name.replace(/(long){20,}/, '…').replace(/(name){10}/, '…');
for (const file of ['npm', 'ustar', 'pax', 'gnu']) {
  const data = new Uint8Array(readFileSync(`${file}.tar`));
  console.log('modern-tar', file, ...(await unpackTar(data)).map((it) => short(it.header.name)));
  console.log('nanotar', file, ...parseTar(data).map((it) => short(it.name)));
}
SCRIPT
python3 write.py
output=$(node read.js)
echo "$output"
grep -qxF 'modern-tar npm lib/…/…/index.js' <<<"$output"
grep -qxF 'nanotar npm index.js' <<<"$output"
grep -qxF 'modern-tar ustar lib/…/…/index.js' <<<"$output"
grep -qxF 'nanotar ustar …/index.js' <<<"$output"
for file in pax gnu; do
  grep -qxF "modern-tar $file current" <<<"$output"
  grep -qxF "nanotar $file releases/…" <<<"$output"
done
echo 'as described'
