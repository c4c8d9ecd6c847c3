#!/usr/bin/env bash
# gitdiff-parser 0.3.1, which react-diff-view uses, parse-git-diff 0.0.20 (Node.js) and whatthepatch 1.0.7 (Python): the diff that git
# writes of a file whose name has a space. git ends such names in the lines `---` and `+++` with a tab, as GNU diff puts one before the
# time.
# Expected: the name of the file, as parse-diff 0.12.0 (Node.js) and unidiff 1.0.1 (Python) give it.
# Seen: the name has the tab at its end, so that no file of this name exists and a comparison of paths fails. Names without spaces are
# right.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund gitdiff-parser@0.3.1 parse-git-diff@0.0.20 parse-diff@0.12.0
python3 -m venv venv
venv/bin/pip install --quiet whatthepatch==1.0.7 unidiff==1.0.1
mkdir old new
echo 1 | tee old/plain.md > 'old/price list.md'
echo 2 | tee new/plain.md > 'new/price list.md'
export GIT_DIR=none
git -c core.quotePath=true diff --no-index --no-prefix old new | sed 's#\bold/#a/#g; s#\bnew/#b/#g' > prices.diff || true
cat > diff.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import gitdiffParser from 'gitdiff-parser';
import parseDiff from 'parse-diff';
import parseGitDiff from 'parse-git-diff';
const text = readFileSync('prices.diff', 'utf8');
const names = {
  'gitdiff-parser': (gitdiffParser.default ?? gitdiffParser).parse(text).map((file) => file.newPath),
  'parse-git-diff': (parseGitDiff.default ?? parseGitDiff)(text).files.map((file) => file.path),
  'parse-diff': parseDiff(text).map((file) => file.to),
};
for (const [name, files] of Object.entries(names)) console.log(name, JSON.stringify(files));
SCRIPT
cat > diff.py <<'SCRIPT'
import json
import unidiff, whatthepatch
text = open("prices.diff").read()
print("whatthepatch", json.dumps([file.header.new_path for file in whatthepatch.parse_patch(text)], separators=(",", ":")))
print("unidiff", json.dumps([file.path for file in unidiff.PatchSet(text)], separators=(",", ":")))
SCRIPT
cat -A prices.diff
output=$(node diff.js && venv/bin/python diff.py)
echo "$output"
for name in gitdiff-parser parse-git-diff whatthepatch; do
  grep -qxF "$name [\"plain.md\",\"price list.md\\t\"]" <<<"$output"
done
for name in parse-diff unidiff; do
  grep -qxF "$name [\"plain.md\",\"price list.md\"]" <<<"$output"
done
echo 'as described'
