#!/usr/bin/env bash
# rss-parser 3.13.0 (Node.js): an entry of an Atom feed with text of the type xhtml (RFC 4287, section 3.1.1.3).
# Expected: the content with its markup, as feedparser 6.0.14 gives it, and the title as a string.
# Seen: the words of a paragraph are in another order: the text around the elements first, then the elements, so that "Do not press
# the red button." becomes "Do  press the  button.notred". The title is an object.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund rss-parser@3.13.0
python3 -m venv venv
venv/bin/pip install --quiet feedparser==6.0.14
cat > feed.xml <<'FEED'
<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>Notices</title><id>urn:x:notices</id><updated>2026-11-27T10:00:00Z</updated><author><name>A</name></author>
  <entry>
    <title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <em>red</em> button</div></title>
    <id>urn:x:1</id><updated>2026-11-27T10:00:00Z</updated>
    <content type="xhtml">
      <div xmlns="http://www.w3.org/1999/xhtml"><p>Do <b>not</b> press the <i>red</i> button.</p></div>
    </content>
  </entry>
</feed>
FEED
cat > read.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import Parser from 'rss-parser';
const [{ title, contentSnippet }] = (await new Parser().parseString(readFileSync('feed.xml', 'utf8'))).items;
console.log('rss-parser:', contentSnippet, typeof title);
SCRIPT
cat > read.py <<'SCRIPT'
import feedparser
print("feedparser:", feedparser.parse("feed.xml").entries[0].content[0].value)
SCRIPT
output=$(node read.js && venv/bin/python read.py)
echo "$output"
grep -qxF 'rss-parser: Do  press the  button.notred object' <<<"$output"
grep -qxF 'feedparser: <p>Do <b>not</b> press the <i>red</i> button.</p>' <<<"$output"
echo 'as described'
