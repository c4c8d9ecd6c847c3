#!/usr/bin/env bash
# juice 12.2.0 and css-inline 0.21.2 (Node.js): the CSS that Tailwind CSS 4.3.5 generates, inlined into the HTML of a mail.
# Expected: `style` attributes with the utilities, as with version 3 of Tailwind CSS.
# Seen: not one attribute, without an error, because version 4 puts all rules into `@layer`, which both skip. css-inline also
# removes the style sheet, so that nothing of the design is left.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund juice@12.2.0 @css-inline/css-inline@0.21.2 tailwindcss@4.3.5 \
  tailwindcss3@npm:tailwindcss@3.4.19 postcss@8
cat > inline.js <<'SCRIPT'
import { readFileSync } from 'node:fs';
import { inline } from '@css-inline/css-inline';
import juice from 'juice';
import postcss from 'postcss';
import { compile } from 'tailwindcss';
import tailwind3 from 'tailwindcss3';
const body = '<body><p class="p-4 font-bold">Hello</p></body>';
const third = postcss([tailwind3({ content: [{ raw: body }], corePlugins: { preflight: false } })]);
const sheets = {
  3: (await third.process('@tailwind utilities', { from: undefined })).css,
  4: (await compile(readFileSync('node_modules/tailwindcss/index.css', 'utf8'))).build(['p-4', 'font-bold']),
};
for (const [version, css] of Object.entries(sheets)) {
  const html = `<html><head><style>${css}</style></head>${body}</html>`;
  for (const [name, made] of [['juice', juice(html)], ['css-inline', inline(html)]])
    console.log(version, name, /<p[^>]*>/.exec(made)[0], made.includes('<style') ? 'with' : 'without', 'a style sheet');
}
SCRIPT
output=$(node inline.js)
echo "$output"
grep -qx '3 juice <p class="p-4 font-bold" style="padding: 1rem; font-weight: 700;"> without a style sheet' <<<"$output"
grep -qx '3 css-inline <p class="p-4 font-bold" style="padding: 1rem; *font-weight: 700;"> without a style sheet' <<<"$output"
grep -qx '4 juice <p class="p-4 font-bold"> with a style sheet' <<<"$output"
grep -qx '4 css-inline <p class="p-4 font-bold"> without a style sheet' <<<"$output"
echo 'as described'
