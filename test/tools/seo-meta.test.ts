import test, { type ExecutionContext } from 'ava';
import { codeOf, serve, stubNetwork } from '../helpers/egress.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('seo-meta');

async function read(t: ExecutionContext, body: string, type = 'text/html; charset=utf-8') {
  const { origin, egress } = await serve(t, (_, response) =>
    response.setHeader('Content-Type', type).end(body),
  );
  const url = `${origin}/dir/page`;
  return { url, answer: tool.call({ url: `${url}#part` }, { egress }) };
}

test('returns all metadata of a page', async (t) => {
  const { url, answer } = await read(
    t,
    `<!doctype html><base href="/base/"><title>A
      title</title><meta name=description content=" What\n it is "><meta name=description content=second>
    <meta name=ROBOTS content=noindex><meta name=robots content="max-snippet:5">
    <link rel=canonical href="page?x=1#y">
    <meta property="og:title twitter:title" content=Both><meta property=og:image content=1><meta property=og:image content=2>
    <meta name=twitter:card content=summary><meta property=twitter:__proto__ content=p><meta name=constructor content=c>
    <meta property=og:empty content=""><meta property=og:none>
    <h1>One</h1><h2>Two <small>words</small></h2><p>and three more words`,
  );
  t.deepEqual(await answer, {
    url,
    title: 'A title',
    description: 'What it is',
    canonical: new URL('/base/page?x=1#y', url).href,
    robots: 'noindex, max-snippet:5',
    openGraph: { 'og:title': 'Both', 'og:image': ['1', '2'], 'og:empty': '' },
    twitter: Object.fromEntries([
      ['twitter:title', 'Both'],
      ['twitter:card', 'summary'],
      ['twitter:__proto__', 'p'],
    ]),
    headings: [
      { level: 1, text: 'One' },
      { level: 2, text: 'Two words' },
    ],
    wordCount: 7,
  });
});

test('returns null or empty lists for missing metadata', async (t) => {
  const { url, answer } = await read(t, '<p>');
  t.deepEqual(await answer, {
    url,
    title: null,
    description: null,
    canonical: null,
    robots: null,
    openGraph: {},
    twitter: {},
    headings: [],
    wordCount: 0,
  });
});

test('counts words also in scripts without spaces', async (t) => {
  const { answer } = await read(t, '<p>ภาษาไทย<p>今日は良い天気です。<p>Hello, world!');
  t.is((await answer).wordCount, 9);
});

test('refuses sources that are not HTML or not public', async (t) => {
  const { answer } = await read(t, '{}', 'application/json');
  t.is(await codeOf(() => answer), 'unsupported_source');
  const network = await stubNetwork({});
  t.teardown(network.close);
  t.is(await codeOf(() => tool.call({ url: 'http://[::1]/' }, { egress: network.guard })), 'target_refused');
  t.deepEqual(
    (await faultsOf(tool, { url: 'nonsense' })).map(({ pointer }) => pointer),
    ['/url'],
  );
});
