import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { findLinks } from '../../activities/html/links.ts';
import { type LoadedPage, loadPage } from '../../activities/html/load.ts';
import { readMeta } from '../../activities/html/meta.ts';
import { pageText } from '../../activities/html/text.ts';
import { countWords } from '../../activities/html/words.ts';
import { type Reader, type Served, startReader } from '../html/chromium.ts';

let reader: Reader;
test.before(async () => {
  reader = await startReader();
});
test.after.always(() => reader?.close());

const HTML = 'text/html; charset=utf-8';
const ours = ({ body, contentType = HTML }: Served): LoadedPage =>
  loadPage({ url: reader.url, statusCode: 200, contentType, bytes: new Uint8Array(Buffer.from(body)) });

async function innerText(served: Served): Promise<string> {
  const page = await reader.open(served);
  return String(await page.evaluate('document.documentElement.innerText'));
}
const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** HTML pages of the Dijit widgets, from their npm package; some pages navigate away at once. */
const CORPUS = join(import.meta.dirname, '../../node_modules/dijit');
const pages = readdirSync(CORPUS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.html') && !name.endsWith('runTests.html'))
  .sort()
  .slice(0, 120)
  .map((name) => ({ name, bytes: readFileSync(join(CORPUS, name)) }));

test.serial('the text of real pages has about as many words as Chromium shows', async (t) => {
  t.true(pages.length >= 100);
  const off: string[] = [];
  for (const { name, bytes } of pages) {
    const served = { body: bytes, contentType: HTML };
    const theirs = countWords(await innerText(served));
    const found = countWords(pageText(ours(served)));
    if (Math.abs(found - theirs) > theirs * 0.05) off.push(`${name}: ${found} words instead of ${theirs}`);
  }
  t.true(off.length <= pages.length * 0.05, off.join('\n'));
});

const SNIPPETS = [
  'a<details><summary>S</summary>inner <p>para</p></details>z',
  'a<details open><summary>S</summary>inner</details>z',
  '<details><p>no summary</p></details>z',
  'x<summary>s</summary>y',
  'a<select><option>one<option>two</select>z',
  'a<select><optgroup label=L><option>one</optgroup></select>z',
  'a<datalist><option>one</datalist>z',
  'a<textarea>foo bar</textarea>z',
  'a<button>b c</button>z',
  'a<input value=foo><input type=submit value=go>z',
  'a<div hidden>foo</div>z',
  'a<div hidden style="display:block">foo</div>z',
  'a<div hidden=until-found>foo</div>z',
  'a<div popover>foo</div>z',
  'a<dialog>foo</dialog>z',
  'a<dialog open>foo</dialog>z',
  'a<object>fallback</object>z',
  'a<video>fb</video><audio>fb</audio><canvas>fb</canvas><iframe>fb</iframe>z',
  'a<svg><title>t</title><desc>d</desc><text>txt</text></svg>z',
  'a<math><mn>2</mn><mo>=</mo><semantics><mn>1</mn><annotation>x</annotation></semantics></math>z',
  '<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>',
  'a<noscript>ns</noscript>z',
  'foo<wbr>bar foo&shy;bar',
  '<table><caption>c</caption><thead><tr><th>h1<th>h2</thead><tbody><tr><td>a<td>b</table>y',
  'a<span style="display:inline-block">b</span>c',
  'a<span style="display:block">b</span>c',
  'a<span style="DISPLAY : None !important">b</span>c',
  'a<div style="display:inline">b</div>c',
  'a <span style="visibility:hidden">h</span> <b style="visibility:hidden">b<i style="visibility:visible">v</i></b> z',
  'a<div style="content-visibility:hidden">h</div>z',
  'a<div aria-hidden=true>h</div>z',
  'a<img alt="alt text" src="x.png">b',
  '<fieldset><legend>leg</legend>f</fieldset>',
  'a<meter>fb</meter><progress>p</progress>z',
  'a<marquee>m</marquee>z',
  '<ul><li>a<li>b</ul><dl><dt>a<dd>b</dl><menu><li>c</menu>',
  'a<xmp>x<b>y</xmp>z',
  'a<noembed>x</noembed><noframes>y</noframes>z',
  '<label>a</label><label>b</label> x<sub>1</sub>',
  'a<span>b</span><em>c</em> d',
  'a<center>b</center>c<br>d<hr>e<address>f</address>g',
  'a<x-foo>b</x-foo>c<slot>d</slot>',
  'a<template>t</template>z',
  'a<search>b</search>c<hgroup>d</hgroup>e',
  '<p>a<p>b <table><div>foster</div><tr><td>c</table>',
  '<pre>one\n  two\n\nthree</pre>',
  'non&nbsp;breaking   spaces \n and lines',
  'a<script>s</script><style>s{}</style><title>t</title>b',
  '<frameset><frame src=x></frameset>',
];

/** Pages with style sheets that hide or show text. */
const STYLED = [
  '<style>.h{display:none}</style>a<div class=h>h</div><p class="x h">h<p class=x>z',
  '<style>#h,.b .c,b>i{display:none}</style>a<div id=h>h</div><p class=b>b<span><u class=c>h</u></span><b>y<i>h</i></b>z',
  '<style>.c{display:none}.c.open{display:block}</style><div class=c>h</div><div class="c open">o</div>z',
  '<style>.c.d{display:none}.c{display:block}</style><div class="c d">h</div><div class=c>o</div>z',
  '<style>.c{display:none}</style><div class=c style="display:block">o</div>z',
  '<style>.c{display:none!important}</style><div class=c style="display:block">h</div>z',
  '<style>.c{display:none !important}#i{display:block}</style><div id=i class=c>h</div>z',
  '<style>.c{visibility:hidden}.v{visibility:visible}</style><div class=c>h<i class=v>v</i></div><p>z',
  '<style>.f{display:flex}</style><div hidden class=f>o</div>z',
  '<style>span{display:block}li{display:inline}</style>a<span>b</span>c<ul><li>d</li><li>e</li></ul>',
  '<style media=print>p{display:none}</style><style media=screen>b{display:none}</style><p>p<b>h</b>z',
  '<style>@media print{p{display:none}}@media screen{b{display:none}}@media (max-width:9px){i{display:none}}</style><p>p<b>h</b><i>i</i>z',
  '<style>@import "x.css";@font-face{font-family:x;src:url(y)}b{display:none}</style>a<b>h</b>z',
  '<style>/* } .z{display:none} */b{content:"}";display:none}/*</style>a<b>h</b><p class=z>z',
  '<style><!-- b{display:none} --></style>a<b>h</b>z',
  '<style>b{color:red}}i{display:none}u{display:none</style>a<b>b</b><i>i</i><u>h</u>z',
  '<style>p:hover,p::before,b:not(.x){display:none}</style><p>p</p><b class=x>x</b>z',
  '<style>.a\\:b{display:none}[data-x=y]{display:none}[data-x=z]{display:inline}</style>a<i class="a:b">h</i><i data-x=y>h</i><i data-x=z>z</i>',
  String.raw`<style>.w-\[\"\(5\2c \"\]{color:red}.w-\{1{top:0}.h{display:none}</style>a<div class=h>h</div>z`,
  '<style>nav,p{display:flex}p{display:-webkit-box}ul{display:inline-grid}</style><nav><a>a</a><a>b</a></nav><p><i>c</i><i>d<b>e</b></i></p>x<ul><b>f</b><b>g</b></ul>',
  '<style>b{display:-webkit-box}</style>a<b>b</b>c',
  '<style>p,{display:none}i,b{display:none}</style><p>p<i>h</i><b>h</b>z',
  '<style>B, I.X{DISPLAY:NONE}</style>a<b>h</b><i class=X>h</i><i class=x>i</i>z',
  '<template><style>p{display:none}</style></template><p>p',
  '<body><p>p</p><div><style>p{display:none}</style></div>z',
  '<style><![CDATA[ p{display:none} ]]></style><p>p',
  '<style>i[{display:none}] b{display:none}u{display:none}</style>a<i>i</i><b>b</b><u>h</u>z',
  '<style>p{background:url(data:image/png;base64,AA==);display:none}</style><p>h</p>z',
  '<style>p;b{display:none}@charset "x";i{display:none}</style><p>p<b>b</b><i>h</i>z',
  '<style>@media (min-width:600px){b{display:none}}@media (max-width:600px){i{display:none}}</style>a<b>h</b><i>i</i>z',
  '<style>b{display:none}@media only screen and (min-width:41.25em) and (max-width:200em){b{display:inline}}</style>a<b>b</b>z',
  '<style>@media (width>=600px){b{display:none}}@media (400px<width<=900px){i{display:none}}@media not print{u{display:none}}</style>a<b>h</b><i>i</i><u>h</u>z',
  '<style>@media (orientation:portrait),(prefers-color-scheme:dark){b{display:none}}@media (min-height:1px){i{display:none}}@media (x-unknown){u{display:none}}</style>a<b>b</b><i>h</i><u>u</u>z',
  '<style>@layer a{b{display:none}}@supports (display:grid){i{display:none}}@supports not (display:grid){u{display:none}}</style>a<b>h</b><i>h</i><u>u</u>z',
  `<style>${Array.from({ length: 2000 }, (_, at) => `.c${at}{display:${at % 2 ? 'none' : 'inline'}}`).join('')}</style>${Array.from({ length: 2000 }, (_, at) => `<b class=c${at}>w${at}</b> `).join('')}`,
];

/** Ways in which a page hides itself until its script runs. They come before the body of the page. */
const GUARDS = [
  (body: string) => `<style id="antiClickjack">body{display:none !important;}</style>${body}`,
  (body: string) => `<style>html{visibility:hidden}</style>${body}`,
  (body: string) => `<style>html,body{display:none}</style>${body}`,
  (body: string) =>
    `<html class=wait><style>.wait body,.wait{opacity:0;content-visibility:hidden}</style>${body}`,
  (body: string) =>
    `<style>body{-webkit-animation:-amp-start 8s steps(1,end) 0s 1 normal both;visibility:hidden}@keyframes -amp-start{from{visibility:hidden}to{visibility:visible}}</style>${body}`,
  (body: string) => `<body style="display:none!important">${body}`,
  (body: string) => `<html hidden><body hidden>${body}`,
];
for (const guard of GUARDS)
  test.serial(`a style that hides the root elements is ignored: ${guard('')}`, (t) => {
    const body = '<p>one <b>two</b><p hidden>three</p><i style="visibility:hidden">four</i>';
    const textOf = (html: string) => words(pageText(ours({ body: `<!doctype html>${html}` })));
    t.deepEqual(textOf(guard(body)), ['one', 'two']);
  });

for (const snippet of [...SNIPPETS, ...STYLED])
  test.serial(`the extracted words are those that Chromium shows: ${snippet.slice(0, 300)}`, async (t) => {
    const served = { body: `<!doctype html>${snippet}`, contentType: HTML };
    t.deepEqual(words(pageText(ours(served))), words(await innerText(served)));
  });

test.serial('XHTML is parsed by the rules of XML', async (t) => {
  const body = `<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title>
    <script src="x.js"/></head><body><p>one <a id="x"/>two</p><div/><p>three<br/>four</p><textarea/><i/>five</body></html>`;
  const served = { body, contentType: 'application/xhtml+xml' };
  t.deepEqual(words(pageText(ours(served))), words(await innerText(served)));
});

const TITLES = [
  '<title> a \n b </title>',
  '<title>&lt;b&gt; <b>x</title>',
  '<svg><title>s</title></svg><title>t</title>',
];
for (const title of TITLES)
  test.serial(`the title is the same as in Chromium: ${title}`, async (t) => {
    const served = { body: `<!doctype html>${title}<p>x`, contentType: HTML };
    const page = await reader.open(served);
    t.is(readMeta(ours(served)).title, String(await page.evaluate('document.title')));
  });

const HREFS = [
  'a',
  '/a',
  '../up',
  '?q=1',
  '#top',
  '',
  ' \n a b ',
  'a#frag',
  '//other.test/x',
  'HTTP://Other.TEST:80/%7Ex',
  'http://[::1',
  'mailto:a@b',
  'tel:1',
  'javascript:void(0)',
  'data:text/html,x',
  'ftp://x/y',
  'http:a',
  'https:/x/y',
  '\\\\x\\y',
  'ä?ö',
  'http://ä.test/',
  'http://x:99999/',
  'http://1.1/',
  'http://user:pw@x.test/',
  'a%zz',
];
for (const base of ['', '<base href="/other/">', '<base target=x><base href="sub/">'])
  test.serial(`links are resolved as by Chromium: ${base}`, async (t) => {
    const anchors = HREFS.map((href) => `<a href="${href}">x</a>`).join('');
    const served = { body: `<!doctype html>${base}${anchors}`, contentType: HTML };
    const page = await reader.open(served);
    const theirs: unknown = await page.evaluate(
      `[...document.links].map((a) => a.href.replace(/#.*/, '')).filter((href) => URL.canParse(href) && /^https?:/.test(href))`,
    );
    if (!Array.isArray(theirs)) throw new Error('no links');
    const { total, links } = findLinks(ours(served), 1000);
    t.deepEqual(
      links.map(({ url }) => url),
      [...new Set(theirs)],
    );
    t.is(total, links.length);
  });
