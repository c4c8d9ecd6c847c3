#!/usr/bin/env bash
# pathspec 1.1.1 (Python), the .gitignore of black, hatchling, yamllint and others: rules for folders, with `GitIgnoreSpec`, which its
# documentation gives for the behaviour of git.
# Expected: as for git and ignore 7.0.17 (Node.js): the last rule that matches decides, and no file of an excluded folder is included.
# Seen: `vendor/` leaves `vendor/a.min.js` in if `!*.min.js` stands before it, since a rule for a folder is weaker than each rule for files;
# `!foo/bar` takes a file of the excluded folder `foo` back; and the class `[[:digit:]]` matches no digit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ignore@7.0.17
python3 -m venv venv
venv/bin/pip install --quiet pathspec==1.1.1
cat > cases.json <<'CASES'
[[["*.js", "!*.min.js", "vendor/"], "vendor/a.min.js"], [["!*.min.js", "vendor"], "vendor/a.min.js"], [["foo", "!foo/bar"], "foo/bar"],
 [["foo/*", "!foo/bar"], "foo/bar"], [["log[[:digit:]].txt"], "log1.txt"], [["log[0-9].txt"], "log1.txt"]]
CASES
cat > ignore.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import ignore from 'ignore';
for (const [rules, path] of JSON.parse(readFileSync('cases.json', 'utf8')))
  console.log(`${rules.join(' ')} | ${path} | ignore`, ignore().add(rules).ignores(path));
SCRIPT
cat > spec.py <<'SCRIPT'
import json, os, subprocess, tempfile, warnings
from pathspec import GitIgnoreSpec
warnings.simplefilter("ignore")
for rules, path in json.load(open("cases.json")):
    folder = tempfile.mkdtemp(dir=".")
    file = os.path.join(folder, path)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    open(file, "w").close()
    with open(os.path.join(folder, ".gitignore"), "w") as ignored:
        ignored.write("\n".join(rules) + "\n")
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    git = subprocess.run(["git", "-C", folder, "check-ignore", "--quiet", path]).returncode == 0
    found = {"git": git, "pathspec": GitIgnoreSpec.from_lines(rules).match_file(path)}
    for name, value in found.items():
        print(f"{' '.join(rules)} | {path} | {name} {str(value).lower()}")
SCRIPT
output=$( (node ignore.js && venv/bin/python spec.py) | sort)
echo "$output"
diff - <(echo "$output") <<'LINES'
!*.min.js vendor | vendor/a.min.js | git true
!*.min.js vendor | vendor/a.min.js | ignore true
!*.min.js vendor | vendor/a.min.js | pathspec false
*.js !*.min.js vendor/ | vendor/a.min.js | git true
*.js !*.min.js vendor/ | vendor/a.min.js | ignore true
*.js !*.min.js vendor/ | vendor/a.min.js | pathspec false
foo !foo/bar | foo/bar | git true
foo !foo/bar | foo/bar | ignore true
foo !foo/bar | foo/bar | pathspec false
foo/* !foo/bar | foo/bar | git false
foo/* !foo/bar | foo/bar | ignore false
foo/* !foo/bar | foo/bar | pathspec false
log[0-9].txt | log1.txt | git true
log[0-9].txt | log1.txt | ignore true
log[0-9].txt | log1.txt | pathspec true
log[[:digit:]].txt | log1.txt | git true
log[[:digit:]].txt | log1.txt | ignore true
log[[:digit:]].txt | log1.txt | pathspec false
LINES
echo 'as described'
