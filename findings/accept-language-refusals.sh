#!/usr/bin/env bash
# accept-language-parser 1.5.0 (Node.js): `pick` of a language for a client that refuses one (`en;q=0, *`) and for one that takes any (`*`),
# with English and French on offer.
# Expected: French for the first, since a weight of 0 means "not acceptable" (RFC 9110, sections 12.4.2 and 12.5.4), and either for the
# second, as negotiator 1.1.0 chooses.
# Seen: English for the first, the language that the client refuses, and none for the second, with and without the option `loose`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund accept-language-parser@1.5.0 negotiator@1.1.0
cat > pick.js <<'SCRIPT'
import parser from 'accept-language-parser';
import Negotiator from 'negotiator';
const OFFERED = ['en', 'fr'];
for (const header of ['en;q=0, *', '*', 'fr;q=0.5, en;q=0.9']) {
  const negotiator = new Negotiator({ headers: { 'accept-language': header } });
  console.log(header, '|', parser.pick(OFFERED, header), parser.pick(OFFERED, header, { loose: true }), negotiator.language(OFFERED));
}
SCRIPT
output=$(node pick.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
en;q=0, * | en en fr
* | null null en
fr;q=0.5, en;q=0.9 | en en en
LINES
echo 'as described'
