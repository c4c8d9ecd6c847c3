#!/usr/bin/env bash
# defuddle 0.19.4 (Node.js), which reads the article of a page for notes and language models: a recipe with its steps in a list.
# Expected: the steps are in the Markdown, as with @mozilla/readability 0.6.0, since they are between the paragraphs of the `article`.
# Seen: the list is left out as "blog metadata list": near the start or the end of an article, it takes short items for the line of an author and
# a date, also in `ol` and `dl`. The steps stay if the paragraph before ends with a colon or a heading is there, or if each ends with a full stop.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund defuddle@0.19.4 jsdom@26.1.0 @mozilla/readability@0.6.0
cat > read.js <<'SCRIPT'
import { Readability } from '@mozilla/readability';
import { Defuddle } from 'defuddle/node';
import { JSDOM } from 'jsdom';
const STEPS = '<ol><li>Mix the flour</li><li>Add the water</li><li>Bake it</li></ol>';
const LISTS = {
  steps: STEPS,
  'steps after a heading': `<h2>Steps</h2>${STEPS}`,
  'steps after a colon': `<p>Do this:</p>${STEPS}`,
  'steps with full stops': STEPS.replaceAll('</li>', '.</li>'),
  definitions: '<dl><dt>Flour</dt><dd>500 g</dd><dt>Water</dt><dd>350 g</dd></dl>',
};
const words = (text) => ['Mix the flour', 'Bake it', '350 g'].filter((it) => text.includes(it)).join(', ') || 'nothing';
for (const [name, list] of Object.entries(LISTS)) {
  const paragraph = '<p>This recipe tells how to bake bread at home with flour, water, salt and time.</p>';
  const page = `<!doctype html><title>Bread</title><article><h1>Bread</h1>${paragraph.repeat(4)}${list}${paragraph.repeat(2)}</article>`;
  const document = () => new JSDOM(page, { url: 'https://recipes.example/bread' }).window.document;
  const { content } = await Defuddle(document(), 'https://recipes.example/bread', { markdown: true });
  console.log(`${name}: ${words(content)} / ${words(new Readability(document()).parse().textContent)}`);
}
SCRIPT
output=$(node read.js)
echo "$output"
diff - <(echo "$output") <<'SCRIPT'
steps: nothing / Mix the flour, Bake it
steps after a heading: Mix the flour, Bake it / Mix the flour, Bake it
steps after a colon: Mix the flour, Bake it / Mix the flour, Bake it
steps with full stops: Mix the flour, Bake it / Mix the flour, Bake it
definitions: nothing / 350 g
SCRIPT
echo 'as described'
