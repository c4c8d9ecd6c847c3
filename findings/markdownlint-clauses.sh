#!/usr/bin/env bash
# markdownlint-cli2 0.24.1 (Node.js) with `--fix` and its default rules: clauses numbered 4 to 6 with a paragraph in between, and a product
# of three numbers.
# Expected: the page looks the same, as mdformat 1.0.0 (Python), which checks this itself, leaves it.
# Seen: the first clause of each list becomes number 1, so that 4, 5 and 6 are 1, 2 and 1 and "see clause 6" points to nothing. `5 * 3 * 2`
# becomes `5 *3* 2`, which is shown as 5 3 2 with a 3 in italics.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund markdownlint-cli2@0.24.1 marked@18.2.1 node@24.21.0
python3 -m venv venv
venv/bin/pip install --quiet mdformat==1.0.0
cat > contract.md <<'TEXT'
# Contract

4. Delivery
5. Payment

A note on clause 5.

6. Liability

The volume is 5 * 3 * 2 cubic metres, see clause 6.
TEXT
cp contract.md mdformat.md
cp contract.md markdownlint.md
venv/bin/mdformat --number mdformat.md
node_modules/.bin/node node_modules/markdownlint-cli2/markdownlint-cli2-bin.mjs --fix markdownlint.md > markdownlint.log 2>&1 || true
cat > numbers.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { marked } from 'marked';
for (const name of ['contract', 'mdformat', 'markdownlint']) {
  const html = marked.parse(readFileSync(`${name}.md`, 'utf8'));
  const starts = [...html.matchAll(/<ol(?: start="(\d+)")?>/g)].map((match) => match[1] ?? '1');
  console.log(name, starts.join(' '), html.match(/volume is (.*) cubic/)[1]);
}
SCRIPT
output=$(node_modules/.bin/node numbers.js)
echo "$output"
grep -qxF 'contract 4 6 5 * 3 * 2' <<<"$output"
grep -qxF 'mdformat 4 6 5 * 3 * 2' <<<"$output"
grep -qxF 'markdownlint 1 1 5 <em>3</em> 2' <<<"$output"
echo 'as described'
