import test from 'ava';
import { type AnyNode, isTag } from 'domhandler';
import { parse, serialize } from 'parse5';
import { adapter } from 'parse5-htmlparser2-tree-adapter';
import { parseHtml } from '../../activities/html/parse.ts';
import { codeOf } from '../helpers/egress.ts';
import { seededRandom } from '../helpers/random.ts';

const ours = (text: string): string => serialize(parseHtml(text), { treeAdapter: adapter });
const theirs = (text: string): string => serialize(parse(text));

const TAGS =
  'a b i font nobr p div span table tbody tr td th caption select option template form button li ul h1 h2 pre svg math mi title script style textarea noscript body html head br img frameset applet object ruby rt dd details x-y'.split(
    ' ',
  );
/** parse5 has earlier rules for `select`; test/browser/select.test.ts compares the present ones with Chromium. */
const PARSED_ALIKE = TAGS.filter((tag) => tag !== 'select');
const ATTRIBUTES = ['', ' id=1', ' class="a b"', ' href=/x', ' a=1 a=2', ' __proto__=x constructor=y', '/'];
const TEXTS = ['x', ' ', '&amp;', '&nbsp', '\n', '<!-- c -->', '<!doctype html>', '<', '</', '\0', 'ü'];

test('pages of ordinary size are parsed to the same tree as with parse5', (t) => {
  const random = seededRandom(t.log);
  for (let round = 0; round < 3000; round++) {
    const parts = Array.from({ length: random.integer(1, 40) }, () =>
      random.pick([
        () => `<${random.pick(PARSED_ALIKE)}${random.pick(ATTRIBUTES)}>`,
        () => `</${random.pick(PARSED_ALIKE)}>`,
        () => random.pick(TEXTS),
      ])(),
    );
    const page = parts.join('');
    t.is(ours(page), theirs(page), page);
  }
});

function depthOf(node: AnyNode): number {
  if (!('children' in node)) return 1;
  return 1 + node.children.reduce((deepest, child) => Math.max(deepest, depthOf(child)), 0);
}

test('elements beyond the maximum depth become siblings, and end tags still match their elements', (t) => {
  const page = `${'<div>'.repeat(600)}<a href=/deep>deep</a>${'</div>'.repeat(600)}<p id=after>after</p>`;
  const document = parseHtml(page);
  const body = document.children.filter(isTag)[0]?.children.filter(isTag)[1];
  t.is(body?.children.filter(isTag).at(-1)?.attribs.id, 'after');
  t.true(depthOf(document) <= 520);
  t.regex(ours(page), /<a href="\/deep">/);
});

for (const opening of [
  '<div>',
  '<b>',
  '<table><tr><td>',
  '<ul><li>',
  '<svg>',
  '<template>',
  '<select><option>',
  '<b><p>',
  '<a><object>',
  '<font size=1><div>',
])
  test(`deep nesting gives a shallow tree with complete text: ${opening}`, (t) => {
    const document = parseHtml(`${opening.repeat(1000)}end`);
    t.true(depthOf(document) < 1200);
    t.regex(serialize(document, { treeAdapter: adapter }), /end/);
  });

test('random nesting of thousands of tags neither fails nor hangs', (t) => {
  const random = seededRandom(t.log);
  for (let round = 0; round < 40; round++) {
    const tags = Array.from({ length: random.integer(1, 6) }, () => random.pick(TAGS));
    const parts = Array.from({ length: 4000 }, () =>
      random.integer(1, 5) === 1
        ? `</${random.pick(tags)}>`
        : `<${random.pick(tags)} n=${random.integer(1, 9)}>x`,
    );
    t.true(depthOf(parseHtml(parts.join(''))) < 1500, tags.join(' '));
  }
});

test('the formatting elements that are reopened in each paragraph are limited', (t) => {
  const fonts = Array.from({ length: 100 }, (_, index) => `<font size=${index}>`).join('');
  const copies = ours(`<p>${fonts}x</p>${'<p>x</p>'.repeat(20)}`).match(/<font/g)?.length ?? 0;
  // 32 in each of the paragraphs. Without the limit, there are 100 in each.
  t.true(copies <= 100 + 20 * 33, String(copies));
});

test('a page with too many nodes is refused', async (t) => {
  const page = '<p>x'.repeat(50);
  t.is(await codeOf(() => parseHtml(page, false, 103)), 'ok');
  t.is(await codeOf(() => parseHtml(page, false, 102)), 'source_too_large');
});

test('if an element has too many attributes, the first ones are kept', (t) => {
  const names = Array.from({ length: 300 }, (_, index) => `a${index}`).join(' ');
  const body = parseHtml(`<!doctype html><body ${names}>`)
    .children.filter(isTag)[0]
    ?.children.filter(isTag)[1];
  t.is(Object.keys(body?.attribs ?? {}).length, 256);
});
