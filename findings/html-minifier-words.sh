#!/usr/bin/env bash
# html-minifier-next 6.2.11 and html-minifier-terser 7.2.0 (Node.js) with `collapseWhitespace`: the spaces around the elements of HTML within a
# sentence.
# Expected: one space stays, as these elements are inline in browsers, and as with htmlnano 3.5.1 and @minify-html/node 0.18.1.
# Seen: the spaces around nine of them go, so that "for <data value="5">5</data> euros" becomes "for5euros" and words touch pictures. To the
# older html-minifier-terser also meter, output and progress are blocks. The spaces stay if the option `inlineCustomElements` names them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund html-minifier-next@6.2.11 html-minifier-terser@7.2.0 htmlnano@3.5.1 @minify-html/node@0.18.1
cat > minify.js <<'SCRIPT'
import minifyHtml from '@minify-html/node';
import { minify as next } from 'html-minifier-next';
import { minify as terser } from 'html-minifier-terser';
import htmlnano from 'htmlnano';
// The phrasing content of HTML that shows something within a line.
const NAMES = [
  'a abbr audio b bdi bdo button canvas cite code data del dfn em embed i iframe img input ins kbd label map mark meter object output',
  'picture progress q ruby s samp select slot small span strong sub sup svg textarea time u var video',
].flatMap((line) => line.split(' '));
const WITHOUT_END = ['embed', 'img', 'input'];
const MINIFIERS = {
  next: (html) => next(html, { collapseWhitespace: true }),
  terser: (html) => terser(html, { collapseWhitespace: true }),
  htmlnano: async (html) => (await htmlnano.process(html, { minifyCss: false, minifyJs: false, minifySvg: false })).html,
  'minify-html': (html) => String(minifyHtml.minify(Buffer.from(html), {})),
};
for (const [minifier, run] of Object.entries(MINIFIERS)) {
  console.log(`${minifier}:`, await run('<p>for <data value="5">5</data> euros</p>'));
  const joined = [];
  for (const name of NAMES) {
    const html = await run(`<p>for <${name}>${WITHOUT_END.includes(name) ? '' : `5</${name}>`} euros</p>`);
    if (/for<|>euros/.test(html)) joined.push(name);
  }
  console.log(`${minifier}:`, joined.join(' ') || '-');
}
SCRIPT
output=$(node minify.js)
echo "$output"
diff - <(echo "$output") <<'LINES'
next: <p>for<data value="5">5</data>euros</p>
next: audio canvas data embed iframe map picture slot video
terser: <p>for<data value="5">5</data>euros</p>
terser: audio canvas data embed iframe map meter output picture progress slot video
htmlnano: <p>for <data value="5">5</data> euros</p>
htmlnano: -
minify-html: <p>for <data value=5>5</data> euros
minify-html: -
LINES
echo 'as described'
