#!/usr/bin/env bash
# robots-parser 3.0.1 (Node.js): a robots.txt that forbids paths with a literal asterisk or dollar sign, which RFC 9309, section 2.2.3,
# has percent-encoded: `Disallow: /path/file-with-a-%2A.html`.
# Expected: `/path/file-with-a-*.html` is forbidden, as the example of the RFC says and as protego 0.7.0 (Python) has it.
# Seen: it is allowed, as is `/path/foo-$` with `/path/foo-%24`; other characters, such as `<` and `%3C`, are compared as the RFC says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund robots-parser@3.0.1
python3 -m venv venv
venv/bin/pip install --quiet protego==0.7.0
cat > robots.txt <<'TEXT'
User-agent: *
Disallow: /path/file-with-a-%2A.html
Disallow: /path/foo-%24
Disallow: /path/a%3Cb
TEXT
cat > paths.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import parse from 'robots-parser';
const robots = parse('https://example.org/robots.txt', readFileSync('robots.txt', 'utf8'));
for (const path of ['/path/file-with-a-*.html', '/path/foo-$', '/path/a<b', '/path/other']) {
  console.log('robots-parser', path, robots.isAllowed(`https://example.org${path}`, 'bot') ? 'allowed' : 'forbidden');
}
SCRIPT
cat > paths.py <<'SCRIPT'
from pathlib import Path
from protego import Protego
robots = Protego.parse(Path("robots.txt").read_text())
for path in ("/path/file-with-a-*.html", "/path/foo-$", "/path/a<b", "/path/other"):
    print("protego", path, "allowed" if robots.can_fetch(f"https://example.org{path}", "bot") else "forbidden")
SCRIPT
output=$(node paths.js && venv/bin/python paths.py)
echo "$output"
for path in '/path/file-with-a-*.html' '/path/foo-$'; do
  grep -qxF "robots-parser $path allowed" <<<"$output"
  grep -qxF "protego $path forbidden" <<<"$output"
done
for parser in robots-parser protego; do
  grep -qxF "$parser /path/a<b forbidden" <<<"$output"
  grep -qxF "$parser /path/other allowed" <<<"$output"
done
echo 'as described'
