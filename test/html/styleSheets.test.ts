import test from 'ava';
import { load } from 'cheerio/slim';
import { parseHtml } from '../../activities/html/parse.ts';
import { readStyleSheets } from '../../activities/html/styleSheets.ts';

/** Number of elements to which the style sheets of a page give declarations under these limits. */
const styled = (page: string, rules: number, steps: number): number =>
  readStyleSheets(load(parseHtml(page)), new Map(), { rules, steps }).size;

test('style sheets are ignored when matching them would take more than the permitted steps', (t) => {
  const page = `<style>p{display:none}</style>${'<p>x'.repeat(20)}`;
  t.is(styled(page, 10, 20), 20);
  t.is(styled(page, 10, 19), 0);
  // A selector with a combinator takes eight steps for each element that may match.
  const combined = page.replace('p{', 'body p{');
  t.is(styled(combined, 10, 160), 20);
  t.is(styled(combined, 10, 159), 0);
});

test('rules beyond the permitted number are ignored', (t) => {
  const page = '<style>a{display:none}b{display:none}i{display:none}</style><a></a><b></b><i></i>';
  t.is(styled(page, 3, 100), 3);
  t.is(styled(page, 2, 100), 2);
});

test('escapes, strings and brackets that are not closed are read as CSS Syntax says', (t) => {
  for (const [css, elements] of [
    [String.raw`.a\\{display:none}`, 1],
    [String.raw`.a\{display:none}`, 0],
    ['p{display:none;width:calc(1px', 1],
    ['@media screen{p{display:none', 1],
    ['p{content:";display:none"}', 0],
    ['p{width:f(;display:none)}', 0],
    ['p{i{display:none}}', 0],
    ['p{i{color:red}display:none}', 1],
    ['<!-- p{display:none} -->', 1],
    ['p/*{*/{display:none}', 1],
    ['p]{display:none}', 0],
  ] as const)
    t.is(styled(`<style>${css}</style><p class="a\\">x`, 10, 100), elements, css);
});
