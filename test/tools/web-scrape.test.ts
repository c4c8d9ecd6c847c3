import test, { type ExecutionContext } from 'ava';
import { codeOf, serve, stubNetwork } from '../helpers/egress.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('web-scrape');
type Fields = Record<string, unknown>;

interface Answer {
  body: string | Uint8Array;
  status?: number;
  headers?: Record<string, string>;
}

/** Starts a website on loopback. Returns it with a function that scrapes one of its pages. */
async function open(t: ExecutionContext, pages: Record<string, Answer>) {
  const { origin, egress } = await serve(t, (request, response) => {
    const page = pages[request.url ?? ''];
    if (page === undefined) return response.writeHead(404).end();
    return response
      .writeHead(page.status ?? 200, page.headers ?? { 'Content-Type': 'text/html; charset=utf-8' })
      .end(page.body);
  });
  return {
    origin,
    ask: (path: string, input: Fields = {}) => tool.call({ url: origin + path, ...input }, { egress }),
  };
}

/** Scrapes a single page. */
async function scrape(t: ExecutionContext, body: string | Uint8Array, input: Fields = {}): Promise<Fields> {
  const { ask } = await open(t, { '/dir/page': { body } });
  return ask('/dir/page', input);
}

const PAGE = `<!doctype html><html><head>
<title> Example &amp; more </title>
<meta name="Description" content="What it is.">
<link rel="alternate canonical" href="/canonical?a=1">
<meta property="og:title" content="OG"><meta property="og:image" content="/1.png"><meta property="og:image" content="/2.png">
<meta property="og:__proto__" content="p"><meta name="og:type" content="website"><meta property="OG:Upper" content="u">
</head><body>
<h1>One <em>two</em></h1><h3>Three</h3><h2 hidden>Hidden</h2>
<p class="lead" id="first">Lead text.</p><p class="lead">Second <b>lead</b>.</p>
<a href="/a#x"><img src="i.png" alt="" width="10" height="20px"></a> <a href="/a">A</a> <a href="/a" rel="nofollow">again</a>
<a href="https://other.test/" rel="noopener NoFollow">Other</a> <a href="//www.127.0.0.1/">x</a>
<a href="mailto:a@b.test">m</a> <a href="tel:1">t</a> <a href="javascript:void(0)">j</a> <a href="http://[">bad</a> <a>none</a>
<map><area href="/area" alt="Area"></map>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="><img srcset="/s1.png 1x, /s2.png 2x" width="50%"><img>
<script>var words = 'in a script'</script><noscript>No script</noscript><template>In a template</template>
</body></html>`;

test.serial('returns all fields of a page', async (t) => {
  const { origin, ask } = await open(t, {
    '/start': { body: '', status: 302, headers: { Location: '/dir/page#frag' } },
    '/dir/page': { body: PAGE },
  });
  t.deepEqual(await ask('/start', { selector: '.lead' }), {
    finalUrl: `${origin}/dir/page`,
    statusCode: 200,
    title: 'Example & more',
    metaDescription: 'What it is.',
    canonical: `${origin}/canonical?a=1`,
    headings: [
      { level: 1, text: 'One two' },
      { level: 3, text: 'Three' },
      { level: 2, text: 'Hidden' },
    ],
    links: [
      { url: `${origin}/a`, text: 'A', internal: true, nofollow: false },
      { url: 'https://other.test/', text: 'Other', internal: false, nofollow: true },
      { url: `${origin}/area`, text: '', internal: true, nofollow: false },
    ],
    images: [
      { url: `${origin}/dir/i.png`, alt: '', width: 10, height: 20 },
      { url: `${origin}/s1.png`, alt: null, width: null, height: null },
    ],
    openGraph: Object.fromEntries([
      ['og:title', 'OG'],
      ['og:image', ['/1.png', '/2.png']],
      ['og:__proto__', 'p'],
      ['og:type', 'website'],
      ['og:upper', 'u'],
    ]),
    selectorMatches: ['Lead text.', 'Second lead.'],
    text: 'One two\nThree\n\nLead text.\n\nSecond lead.\n\nA again Other x m t j bad none',
    wordCount: 16,
    pageType: null,
    confidence: null,
  });
});

test.serial('the fields `text` and `selector` are optional', async (t) => {
  const page = await scrape(t, '<p>one two', { includeText: false });
  t.like(page, { text: null, wordCount: 2, selectorMatches: null, title: null, canonical: null });
});

/** Returns a page that contains every metadata field. */
const described = (name: string): string =>
  `<base href="/${name}/"><title>${name}</title><meta name=description content=${name}><meta property=og:title content=${name}>` +
  `<link rel=canonical href="/${name}"><style>.x { display: none }</style><h1>${name}</h1><a href=/${name}>${name}</a>` +
  `<img src=/${name}.png><p class=x>${name}</p>`;
test.serial('the content of a template is not part of the page', async (t) => {
  const inside = `<template>${described('inside')}<template>${described('deeper')}</template></template>`;
  const outside = described('outside').replace(/<style>.*<\/style>/, '');
  const { origin, ask } = await open(t, {
    '/alone': { body: `<!doctype html>${inside}` },
    '/beside': { body: `<!doctype html>${inside}${outside}${inside}` },
    '/without': { body: `<!doctype html>${outside}` },
  });
  t.like(await ask('/alone', { selector: '.x' }), {
    ...{ title: null, metaDescription: null, canonical: null, headings: [], links: [], images: [], text: '' },
    ...{ openGraph: {}, selectorMatches: [] },
  });
  for (const selector of ['.x', 'h1', 'base']) {
    const beside = await ask('/beside', { selector });
    t.deepEqual(beside, { ...(await ask('/without', { selector })), finalUrl: `${origin}/beside` });
  }
  t.deepEqual((await ask('/alone', { selector: 'template' })).selectorMatches, ['']);
  const svg = '<svg><template><text class=x>drawn</text></template></svg>';
  t.deepEqual((await scrape(t, svg, { selector: '.x' })).selectorMatches, ['drawn']);
});

const SENTENCES = 'This sentence of the article, which has a comma, is about as long as usual. '.repeat(4);
const ARTICLE = `<!doctype html><title>T</title><nav><a href=/a>Menu one</a> <a href=/b>Menu two</a></nav><main><article><h2>First part</h2>
<p>${SENTENCES}</p><ul><li>apple</li><li>pear</li></ul><p>See <a href="../there">the other page</a>. ${SENTENCES}</p>
<pre><code>const x = 1;</code></pre><table><thead><tr><th>Name</th><th>Size</th></tr></thead><tbody><tr><td>A</td><td>1</td></tr></tbody></table>
<p><img src=/cat.png alt="A cat"> ${SENTENCES}</p><div class=related-articles><p><a href=/x>Another story</a></p></div></article></main>
<footer>All rights reserved</footer>`;
const MARKDOWN = [
  /^## First part$/m,
  /^- +apple\n- +pear$/m,
  /\[the other page\]\(http:\/\/127\.0\.0\.1:\d+\/there\)/,
  /^```\nconst x = 1;\n```$/m,
  /^\| Name \| Size \|\n\| -+ \| -+ \|\n\| A +\| 1 +\|$/m,
  /!\[A cat\]\(http:\/\/127\.0\.0\.1:\d+\/cat\.png\)/,
];
test.serial('the main content is returned as text or Markdown, without the rest of the page', async (t) => {
  const text = await scrape(t, ARTICLE, { content: 'main' });
  t.regex(String(text.text), /First part[\s\S]*apple\npear[\s\S]*the other page/);
  const markdown = await scrape(t, ARTICLE, { content: 'main', format: 'markdown' });
  t.is(markdown.wordCount, text.wordCount);
  t.is(text.pageType, 'article');
  t.true(Number(text.confidence) > 0.5 && Number(text.confidence) <= 1);
  for (const pattern of MARKDOWN) t.regex(String(markdown.text), pattern);
  for (const { text: found } of [text, markdown])
    t.notRegex(String(found), /Menu|Another story|rights reserved/);
});

test.serial('a page without main content gives an empty text', async (t) => {
  t.like(await scrape(t, '<!doctype html><title>T</title>', { content: 'main', format: 'markdown' }), {
    text: '',
    wordCount: 0,
    confidence: 0,
  });
});

test.serial('a whole page as Markdown includes its navigation', async (t) => {
  const { text } = await scrape(t, ARTICLE, { format: 'markdown' });
  t.regex(String(text), /Menu one/);
  t.regex(String(text), /^## First part$/m);
});

const SELECTORS: [selector: string, matches: string[]][] = [
  ['h1', ['One two']],
  ['H1', ['One two']],
  ['#first', ['Lead text.']],
  ['#FIRST', []],
  ['script', ["var words = 'in a script'"]],
  ['title', ['Example & more']],
  ['.none', []],
  ['x-y', []],
];
for (const [selector, matches] of SELECTORS)
  test.serial(`selector ${selector} selects the expected elements`, async (t) => {
    t.deepEqual((await scrape(t, PAGE, { selector })).selectorMatches, matches);
  });

for (const selector of [
  '',
  'a b',
  'a>b',
  '.a.b',
  'p.lead',
  '*',
  'a:hover',
  '[href]',
  'a,b',
  '#',
  '.',
  '.1',
  '\n',
  'a\\',
  ':root',
])
  test.serial(`${JSON.stringify(selector)} is not a simple selector`, async (t) => {
    const faults = await faultsOf(tool, { url: 'http://127.0.0.1/', selector });
    t.deepEqual([...new Set(faults.map(({ pointer }) => pointer))], ['/selector']);
  });

test.serial('a page with an error status is a result', async (t) => {
  const { ask } = await open(t, { '/': { status: 500, body: '<h1>Oops</h1>' } });
  t.like(await ask('/'), { statusCode: 500, headings: [{ level: 1, text: 'Oops' }] });
});

const TYPES: [name: string, type: string | null, body: string | number[], code: string][] = [
  ['HTML without a type', null, '<!DOCTYPE html>\n<p>x', 'ok'],
  ['HTML declared as text', 'text/plain', '\n <html lang=en>', 'ok'],
  ['HTML declared as bytes', 'application/octet-stream', '<!-- c --><body>', 'ok'],
  ['a fragment declared as HTML', 'text/html', 'Hello <b>world</b>', 'ok'],
  ['an empty body declared as HTML', 'text/html', '', 'ok'],
  [
    'XHTML',
    'application/xhtml+xml',
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>',
    'ok',
  ],
  ['XHTML declared as XML', 'text/xml', '<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x" "y"><html/>', 'ok'],
  ['an empty body without a type', null, '', 'unsupported_source'],
  ['text', 'text/plain', 'Hello world', 'unsupported_source'],
  ['JSON', 'application/json', '{"a": "<p>"}', 'unsupported_source'],
  ['SVG', 'image/svg+xml', '<?xml version="1.0"?><svg><a>x</a></svg>', 'unsupported_source'],
  ['a feed declared as HTML', 'text/html', '<?xml version="1.0"?><rss></rss>', 'unsupported_source'],
  ['PDF declared as HTML', 'text/html', '%PDF-1.7\n<html>', 'unsupported_source'],
  [
    'PNG declared as HTML',
    'text/html',
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13],
    'unsupported_source',
  ],
  ['control characters in HTML', 'text/html; charset=utf-8', 'Hello \0 world, a\x01b \x1f', 'ok'],
  ['a control character at the start of HTML', 'text/html', '\x01<p>x', 'ok'],
  ['letters of a signature in HTML', 'text/html', 'BMW, ID3 and OTTO', 'ok'],
  ['control characters without a type', null, 'a\x01b', 'unsupported_source'],
  ['control characters declared as text', 'text/plain', '<!-- a\x01b -->', 'unsupported_source'],
  ['a PDF with bytes in it declared as HTML', 'text/html', '%PDF-1.7\n\x01', 'unsupported_source'],
  ...(
    [
      ['ICO', '\0\0\x01\0\x01\0'],
      ['BMP', 'BM\x46\0\0\0\0\0\0\0\x36'],
      ['JPEG', '\xff\xd8\xff\xe0\0\x10JFIF'],
      ['WebP', 'RIFF\x24\0\0\0WEBPVP8 '],
      ['WAV', 'RIFF\x24\0\0\0WAVEfmt '],
      ['MP3 with a tag', 'ID3\x03\0\0'],
      ['MP3', '\xff\xfb\x90\0'],
      ['Ogg', 'OggS\0\x02'],
      ['MP4', '\0\0\0\x18ftypmp42'],
      ['WebM', '\x1aE\xdf\xa3\x01'],
      ['TrueType', '\0\x01\0\0\0\x0f'],
      ['WOFF2', 'wOF2\0\x01\0\0'],
      ['gzip', '\x1f\x8b\x08\0'],
      ['RAR', 'Rar!\x1a\x07\0'],
    ] as const
  ).map(([name, bytes]): (typeof TYPES)[number] => [
    `${name} called HTML`,
    'text/html; charset=utf-8',
    [...Buffer.from(bytes, 'latin1')],
    'unsupported_source',
  ]),
  ['ZIP declared as HTML', 'text/html', [0x50, 0x4b, 3, 4, 20, 0, 0, 0], 'unsupported_source'],
];
for (const [name, type, body, code] of TYPES)
  test.serial(`HTML is detected from its bytes: ${name}`, async (t) => {
    const headers: Record<string, string> = type === null ? {} : { 'Content-Type': type };
    const bytes = typeof body === 'string' ? body : new Uint8Array(body);
    const { ask } = await open(t, { '/': { body: bytes, headers } });
    t.is(await codeOf(() => ask('/')), code);
  });

test.serial('Shift_JIS is detected from http-equiv, UTF-16 from its byte order mark', async (t) => {
  const meta = '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><title>';
  const { ask } = await open(t, {
    '/sjis': {
      body: Buffer.concat([Buffer.from(meta), Buffer.from([0x83, 0x65, 0x83, 0x58, 0x83, 0x67])]),
      headers: { 'Content-Type': 'text/html' },
    },
    '/utf16': { body: Buffer.from('\u{feff}<title>テスト', 'utf16le'), headers: {} },
  });
  t.is((await ask('/sjis')).title, 'テスト');
  t.is((await ask('/utf16')).title, 'テスト');
});

test.serial('long text is cut between words, and its full length is reported', async (t) => {
  const page = await scrape(t, `<p>${'wörter 😀 '.repeat(8000)}`);
  const text = String(page.text);
  t.is(page.wordCount, 8000);
  t.true([...text].length <= 50_000 && [...text].length > 49_985);
  t.regex(text, /(?:wörter|😀)$/u);
  t.is([...String((await scrape(t, 'x'.repeat(60_000))).text)].length, 50_000);
});

test.serial('nested elements do not repeat their text without limit', async (t) => {
  const page = await scrape(t, `${'<div>'.repeat(500)}${'word '.repeat(10_000)}`, { selector: 'div' });
  t.true(JSON.stringify(page.selectorMatches).length < 2_000_000);
});

test.serial('a long base URL is not repeated in the links without limit', async (t) => {
  const anchors = Array.from({ length: 12_000 }, (_, index) => `<a href="${index}">`).join('');
  const page = await scrape(t, `<base href="http://x.test/${'y'.repeat(100_000)}/">${anchors}`);
  t.is(JSON.parse(JSON.stringify(page.links)).length, 10_000);
  t.true(JSON.stringify(page).length < 2_000_000);
});

test.serial('a page of 5 MB is read, and one byte more is too large', async (t) => {
  const { ask } = await open(t, {
    '/5': { body: `<!doctype html><p>${'a'.repeat(5 * 1024 * 1024 - 18)}` },
    '/6': { body: `<!doctype html><p>${'a'.repeat(5 * 1024 * 1024 - 17)}` },
  });
  t.is((await ask('/5', { includeText: false })).wordCount, 1);
  t.is(await codeOf(() => ask('/6')), 'source_too_large');
});

const numbered = (times: number, make: (index: number) => string): string =>
  Array.from({ length: times }, (_, index) => make(index)).join('');
// Each page is a small one of a class whose time or memory grows faster than its size in parsers without limits. The limits
// themselves are tested in test/html/.
const HOSTILE: Record<string, string> = {
  'nested div': '<div>'.repeat(2000),
  'nested div, closed': '<div>'.repeat(2000) + '</div>'.repeat(2000),
  'one tag of many attributes': `<p ${numbered(2000, (index) => `a${index}=b `)}>`,
  'formatting elements, each different': numbered(1000, (index) => `<b id=${index}><p>`),
  'formatting elements to reopen in each paragraph': `${numbered(200, (index) => `<b id=${index}>`)}${'<p>x</p>'.repeat(500)}`,
  'formatting elements closed around a big block': `${numbered(100, (index) => `<b id=${index}>`)}<div>${'<br>'.repeat(2000)}${'</b>'.repeat(100)}`,
  'nested tables': '<table><tr><td>'.repeat(1000),
  'foster parenting': `<table>${'x<i></i>'.repeat(2000)}`,
  'nested links': '<a href=x><object>'.repeat(1000),
  'nested select, template and svg': '<select><template><svg><p>'.repeat(1000),
  'nested templates': '<template><p>'.repeat(1000),
  'adjacent templates': '<template><p>x</template><p>'.repeat(1000),
  'less-than signs': '<'.repeat(20_000),
  'an unclosed comment': `<!--${'-'.repeat(20_000)}`,
  'character references': '&CounterClockwiseContourIntegral'.repeat(1000),
  'style attributes': `<p style="${'; display'.repeat(2000)}">x`,
  'attributes of the body': numbered(1000, (index) => `<body a${index}>`),
  'rules that match many elements': `<style>${'*{display:block}'.repeat(20)}</style>${'<p>x'.repeat(1000)}`,
  'rules for deeply nested elements': `<style>${numbered(7, (index) => `.x${index} ${'p '.repeat(20)}b{display:none}`)}</style>${'<p><b><div>'.repeat(400)}`,
  'a rule of many selectors and declarations': `<style>${'p,'.repeat(5000)}p{${'display:none;'.repeat(5000)}}</style><p>x`,
  'open brackets': `<style>${'('.repeat(20_000)}</style><p>x`,
  'white space and semicolons': `<style>${' '.repeat(10_000)}${';'.repeat(10_000)}</style><p>x`,
  'braces and quotes': `<style>${'{'.repeat(5000)}${`"'/*@media{`.repeat(2000)}</style><p>x`,
  'unclosed rules': `<style>${'a{b:c;'.repeat(5000)}</style><p>x`,
  'white space in a style sheet': `<style>p${' \t\n'.repeat(5000)}x</style><p>x`,
  'comment starts in a style sheet': `<style>${'/*'.repeat(10_000)}</style><p>x`,
};
for (const [name, body] of Object.entries(HOSTILE))
  test.serial(`a hostile page is read: ${name}`, async (t) => {
    t.is(await codeOf(() => scrape(t, `<!doctype html>${body}`, { selector: 'p' })), 'ok');
  });

test.serial('targets that are not public are refused, also after a redirect', async (t) => {
  const network = await stubNetwork({
    handle: (_, response) => response.writeHead(302, { Location: 'http://10.0.0.1/' }).end(),
  });
  t.teardown(network.close);
  const ask = (url: string) => codeOf(() => tool.call({ url }, { egress: network.guard }));
  t.is(await ask('http://127.0.0.1/'), 'target_refused');
  t.is(await ask('http://example.com/'), 'target_refused');
});

for (const url of [
  'example.com',
  'ftp://example.com/',
  'http://user:pw@example.com/',
  'http://',
  `http://example.com/${'a'.repeat(8192)}`,
])
  test.serial(`the URL ${url.slice(0, 40)} is rejected`, async (t) => {
    const faults = await faultsOf(tool, { url });
    t.deepEqual([...new Set(faults.map(({ pointer }) => pointer))], ['/url']);
  });
