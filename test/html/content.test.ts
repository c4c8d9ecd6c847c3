import test from 'ava';
import { findContent } from '../../activities/html/content/findContent.ts';
import { loadPage } from '../../activities/html/load.ts';
import { textOf } from '../../activities/html/text.ts';

const SITE = 'https://site.test';

function read(path: string, html: string) {
  const page = loadPage({
    url: SITE + path,
    statusCode: 200,
    contentType: 'text/html; charset=utf-8',
    bytes: Buffer.from(`<!doctype html><html lang=en>${html}</html>`),
  });
  const { texts, extra, ...content } = findContent(page);
  return { ...content, text: [textOf(page, texts), ...extra].join('\n') };
}

const SENTENCES = [
  'The harbour master counts the boats every morning, before the wind turns and the fog lifts.',
  'Most of them leave again within the hour, because the fish are further out than they used to be.',
  'Nobody has written down why, although everyone in the village has an opinion about it.',
  'In winter the same water is grey, quiet and empty for weeks, and the nets dry on the wall.',
  'A visitor who asks for directions will usually hear the whole story, with dates and names.',
  'Two brothers built the first pier here, and their grandchildren still repair it after each storm.',
];
const sentence = (index: number): string => SENTENCES[index % SENTENCES.length] ?? '';
const paragraphs = (count: number, from = 0): string =>
  Array.from(
    { length: count },
    (_, index) => `<p>${sentence(from + index)} ${sentence(from + index + 2)} Part ${from + index}.</p>`,
  ).join('');
const repeat = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join('');

const HEAD = `<header class="site-header"><a href="/">Site</a><nav class="main-menu"><ul>${repeat(8, (index) => `<li><a href="/m${index}">Menu item ${index}</a></li>`)}</ul></nav></header>`;
const FOOT = `<footer class="site-footer"><ul>${repeat(8, (index) => `<li><a href="/f${index}">Footer link ${index}</a></li>`)}</ul><p>© 2026 Site. All rights reserved. Privacy policy</p></footer>`;
const around = (title: string, main: string, head = ''): string =>
  `<head><title>${title}</title>${head}</head><body>${HEAD}<main>${main}</main>${FOOT}</body>`;

const isClean = (text: string): boolean => !/Menu item|Footer link|All rights reserved/.test(text);

test('an article is found with its headings, lists and quotations, also those that are links', (t) => {
  const { text, pageType, confidence } = read(
    '/blog/2026/the-harbour',
    around(
      'The harbour in the morning',
      `<article class="post"><h1>The harbour in the morning</h1><div class="entry-content">${paragraphs(4)}
      <h2><a href="/pier">How the pier was built</a></h2>${paragraphs(3, 4)}
      <ul><li><a href="/one">The first plan of the pier, drawn in pencil</a></li><li><a href="/two">The second plan, in ink</a></li></ul>
      ${paragraphs(2, 8)}<blockquote><p>We never asked anyone for permission, and nobody ever came to see.</p></blockquote>
      <p class="credits-of-history">The parish has owned the land since 1850, and pays for the lamps at its end.</p>${paragraphs(2, 10)}</div></article>
      <aside class="sidebar related-posts"><h3>Related posts</h3><ul>${repeat(6, (index) => `<li><a href="/r${index}">Another story ${index}</a></li>`)}</ul></aside>`,
      '<meta property="og:type" content="article"><meta property="article:published_time" content="2026-01-01">',
    ),
  );
  t.is(pageType, 'article');
  t.true(isClean(text) && !/Another story/.test(text), text);
  for (const part of [
    'How the pier was built',
    'The first plan of the pier',
    'We never asked',
    'since 1850',
    'Part 11',
  ])
    t.true(text.includes(part), part);
  t.true(confidence > 0.8 && confidence <= 1);
});

test('a paragraph between others is content, whatever its class says', (t) => {
  const others = ['harbour', 'council', 'river', 'engineer']
    .map(
      (subject, index) =>
        `<p>The ${subject} of the old town has changed a great deal over the last ${index + 3} years, and the people who live near it describe in detail what they remember, what they miss and what they would like to keep for those who come after them.</p>`,
    )
    .join('\n');
  for (const name of ['credit', 'caption', 'comment']) {
    const marked = `<div class="${name}"><p>MARKED the keeper of the lighthouse wrote in her notebook that no ship had ever failed to answer the lamp while she was on duty, and that she intended to keep it so.</p></div>`;
    const html = `<head><title>The old town and its harbour</title></head><body><header><nav><a href="/">Home</a> <a href="/news">News</a> <a href="/sport">Sport</a></nav></header><main><article><h1>The old town and its harbour</h1>${others}${marked}${others}</article></main><footer><p>© 2026 The Gazette. All rights reserved. <a href="/imprint">Imprint</a></p></footer></body>`;
    t.true(read('/a', html).text.includes('MARKED'), name);
  }
});

test('teasers of other articles and paragraphs that only refer to them are no content', (t) => {
  const teasers = repeat(
    9,
    (index) =>
      `<div class="story"><h3><a href="/story-${index}">Another story with number ${index} of today</a></h3><p>Teaser ${index}. ${sentence(index)} ${sentence(index + 1)}</p></div>`,
  );
  const { text } = read(
    '/news/2026/01/02/the-harbour',
    around(
      'The harbour in the morning',
      `<div class="story-page"><article><h1>The harbour in the morning</h1>${paragraphs(4)}
      <p><a href="/pier">Read more: how the pier was built and by whom</a></p>${paragraphs(4, 4)}</article></div>
      <div class="stories">${teasers}</div>`,
      '<meta property="og:type" content="article"><meta property="article:published_time" content="2026-01-02">',
    ),
  );
  t.regex(text, /Part 0\.[\s\S]*Part 7\./);
  t.notRegex(text, /Teaser|Another story|Read more/);
});

const POSTS = repeat(
  7,
  (
    index,
  ) => `<article class="message message--post" id="post-${index}"><div class="message-user"><h4 class="username"><a href="/members/${index}">user${index}</a></h4></div>
  <div class="message-content"><time datetime="2026-01-0${index + 1}">Jan ${index + 1}, 2026</time><div class="bbWrapper">${sentence(index)} ${sentence(index + 3)} Reply ${index}.</div></div></article>`,
);
test('a thread is found with all its posts', (t) => {
  const { text, pageType } = read(
    '/forums/threads/boats.123/',
    around(
      'Boats | Forum',
      `<h1>Which boat leaves first?</h1><div class="block-body js-replyNewMessageContainer">${POSTS}</div>`,
    ),
  );
  t.is(pageType, 'forum');
  t.true(isClean(text));
  for (let index = 0; index < 7; index++) t.true(text.includes(`Reply ${index}.`), `post ${index}`);
});

test('posts that are only in noscript are found', (t) => {
  const posts = repeat(
    6,
    (index) =>
      `<div class="topic-body crawler-post"><span itemprop="author">user${index}</span><div class="post" itemprop="text"><p>${sentence(index)} ${sentence(index + 1)} Reply ${index}.</p></div></div>`,
  );
  const { text } = read(
    '/t/boats/123',
    `<head><title>Boats - Forum</title><meta name=generator content="Discourse 3"></head><body class=crawler><noscript data-path="/t/boats/123"><header>${HEAD}</header><div id=main-outlet class=wrap role=main><h1>Which boat leaves first?</h1>${posts}</div>${FOOT}</noscript><div id=app></div></body>`,
  );
  for (let index = 0; index < 6; index++) t.true(text.includes(`Reply ${index}.`), `post ${index}`);
});

test('a listing is found with its entries', (t) => {
  const cards = repeat(
    12,
    (index) =>
      `<article class="card"><h3 class="card-title"><a href="/recipes/${index}">Soup number ${index} with bread</a></h3><p class="card-excerpt">${sentence(index)}</p></article>`,
  );
  const { text } = read(
    '/recipes/',
    around(
      'Recipes',
      `<h1>Recipes</h1><p>Our collection of soups for every season.</p><div class="card-grid">${cards}</div>`,
    ),
  );
  t.true(isClean(text));
  for (let index = 0; index < 12; index++) t.true(text.includes(`Soup number ${index} `), `card ${index}`);
});

test('a description that only the JSON-LD has is the content of a product that scripts show', (t) => {
  const description =
    'A light jacket of waxed cotton, with two pockets, a hood and buttons of horn, made for rain and wind.';
  const data = JSON.stringify({
    '@context': 'https://schema.org',
    '@type': 'Product',
    name: 'Jacket',
    description,
    offers: { '@type': 'Offer', price: 120 },
  });
  const { text, pageType } = read(
    '/products/jacket',
    `<head><title>Jacket</title><script type="application/ld+json">${data}</script></head><body><div id=app>Loading</div></body>`,
  );
  t.is(pageType, 'product');
  t.true(text.includes(description));
});

test('a page without text has no content', (t) => {
  const { text, confidence } = read('/', '<head><title>T</title></head><body></body>');
  t.is(text, '');
  t.is(confidence, 0);
});

test('pages of unusual shapes take time in proportion to their size', (t) => {
  for (const unit of [
    '<div>',
    '<p>word',
    '<a href=x>a',
    '<span>b',
    '<br>x',
    '<h2>a',
    '<li class=a>b',
    '<noscript>a',
    'word ',
  ])
    t.notThrows(() => read('/', `<body>${unit.repeat(20_000)}`), unit);
});
