import test from 'ava';
import { isTag, type ParentNode } from 'domhandler';
import { serialize } from 'parse5';
import { adapter } from 'parse5-htmlparser2-tree-adapter';
import { parseHtml } from '../../activities/html/parse.ts';
import { seededRandom } from '../helpers/random.ts';
import { type Reader, startReader } from '../html/chromium.ts';

let reader: Reader;
test.before(async () => {
  reader = await startReader();
});
test.after.always(() => reader?.close());

const HEAD = '<!doctype html><meta charset=utf-8><title>t</title><body>';
const TAGS =
  'select select select option option optgroup hr input button div p b a h2 img ul li table tr td svg textarea span template'.split(
    ' ',
  );

/** Returns the content of the body as this project parses it. */
function ours(markup: string): string {
  const find = ({ children }: ParentNode, name: string) =>
    children.filter(isTag).find((each) => each.name === name);
  const html = find(parseHtml(HEAD + markup), 'html');
  const body = html && find(html, 'body');
  return body === undefined ? '' : serialize(body, { treeAdapter: adapter });
}

test('markup in a select is parsed as in Chromium', async (t) => {
  const random = seededRandom(t.log);
  const cases = Array.from({ length: 1_000 }, () =>
    Array.from({ length: random.integer(2, 20) }, () =>
      random.pick([() => `<${random.pick(TAGS)}>`, () => `</${random.pick(TAGS)}>`, () => 'x'])(),
    ).join(''),
  );
  const page = await reader.open({ body: HEAD });
  const theirs = await page.evaluate(
    (all, head) =>
      all.map((markup) => new DOMParser().parseFromString(head + markup, 'text/html').body.innerHTML),
    cases,
    HEAD,
  );
  t.is(theirs.length, cases.length);
  for (const [index, markup] of cases.entries()) t.is(ours(markup), theirs[index] ?? '', markup);
});
