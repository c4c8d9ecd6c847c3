import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { serve } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';

const scrape = await loadTool('web-scrape');
const seo = await loadTool('seo-meta');
const links = await loadTool('broken-links');

type Answer = string | { status?: number; headers: Record<string, string>; body: string | Buffer };

/** Starts a website on loopback; any other path returns 404. */
const open = (t: ExecutionContext, pages: Readonly<Record<string, Answer>>) =>
  serve(t, (request, response) => {
    const page = pages[request.url ?? ''];
    if (page === undefined) return response.writeHead(404).end();
    const { status = 200, headers, body } = typeof page === 'string' ? { headers: {}, body: page } : page;
    return response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }).end(body);
  });

async function read(
  t: ExecutionContext,
  body: string,
): Promise<Record<string, unknown> & { origin: string }> {
  const { origin, egress } = await open(t, { '/': body });
  const result = await scrape.call({ url: `${origin}/` }, { egress });
  return { ...result, origin };
}

test.serial('a declarative shadow root is text, headings and links of the page', async (t) => {
  const page = await readFile(new URL('../cases/pages/dsd-text.html', import.meta.url), 'utf8');
  const { origin, ...result } = await read(t, page);
  t.deepEqual(String(result.text).split(/\n+/), [
    'Ports',
    'North port',
    'Depth nine metres. Details',
    'Open daily.',
  ]);
  t.like(result, {
    headings: [
      { level: 1, text: 'Ports' },
      { level: 2, text: 'North port' },
    ],
    links: [{ url: `${origin}/north`, text: 'Details' }],
  });
});

const root = (content: string, mode = 'open') => `<template shadowrootmode=${mode}>${content}</template>`;
/** Pages with shadow roots, and the words that browsers show of them. */
const TREES: Readonly<Record<string, [page: string, text: string]>> = {
  'children go into the slots with their names, and the others are not shown': [
    `<x-a>${root('<b>1</b> <slot name=s></slot> <slot></slot> <slot>not</slot>')}<i slot=none>no</i><i>3</i><i slot=s>2</i></x-a>`,
    '1 2 3 not',
  ],
  'slots are those of the own shadow root': [
    `<x-a>${root(`<x-b>${root('<h2><slot name=head></slot></h2><slot></slot>')}<slot slot=head></slot><p>body</p></x-b>`)}head</x-a>`,
    'head body',
  ],
  'a slot without children shows its own content': [
    `<x-a>${root('<slot name=t>own</slot>')}light</x-a>`,
    'own',
  ],
  'a closed root in a closed root': [
    `<x-a>${root(`a <x-b>${root('<p>b <slot></slot></p>', 'closed')}<slot></slot></x-b>`, 'closed')}<em>c</em></x-a>`,
    'a b c',
  ],
  'a style sheet applies only within its root': [
    `<style>.d{display:none}</style><p class=h>shown</p><div>${root('<style>.h{display:none}</style><p class=h>hidden</p><p class=d>also shown</p>')}</div>`,
    'shown also shown',
  ],
  'a style sheet applies to its host and to what is in its slots, unless the page says otherwise': [
    `<style>.s{display:block}</style><x-a>${root('<style>:host{display:none}</style>no')}</x-a><x-b class=s>${root('<style>:host(.s){display:none}</style>host')}</x-b><x-c>${root('<style>::slotted(.n){display:none}:host .t{display:none}</style><p class=t>no</p><slot></slot>')}<i class=n>no</i><i class=t>slotted</i></x-c>`,
    'host slotted',
  ],
  'only elements that can be hosts, and only the first template': [
    `<ul><li>${root('no')}light</li></ul><section>${root('first')}${root('second')}</section>`,
    'light first',
  ],
};
for (const [name, [page, text]] of Object.entries(TREES))
  test.serial(`shadow roots: ${name}`, async (t) => {
    const result = await read(t, `<!doctype html><title>t</title>${page}`);
    t.is(String(result.text).replace(/\s+/g, ' ').trim(), text);
  });

test.serial(
  'seo-meta and broken-links read shadow roots, which have no metadata and no anchors',
  async (t) => {
    const { origin, egress } = await open(t, {
      '/': `<title>T</title><main>${root('<h1>In</h1><a href=/a#x>x</a><a href=/a#y>y</a><link rel=canonical href=/no>')}</main>`,
      '/a': `<p id=y>y</p><div>${root('<p id=x>x</p>')}</div>`,
    });
    t.like(await seo.call({ url: `${origin}/` }, { egress }), {
      canonical: null,
      headings: [{ level: 1, text: 'In' }],
    });
    const checked = await links.call({ url: `${origin}/`, checkFragments: true }, { egress });
    t.like(checked, {
      links: [
        { url: `${origin}/a#x`, broken: true },
        { url: `${origin}/a#y`, broken: false },
      ],
    });
  },
);

test.serial('markup in a select is part of the page', async (t) => {
  const { origin, ...result } = await read(
    t,
    '<select><button><selectedcontent></selectedcontent></button><option><h2>North</h2><img src=n.png alt=N> <a href=/n>more</a><option><div>South <b>port</b></div></select><p>after',
  );
  t.is(String(result.text).replace(/\s+/g, ' ').trim(), 'North more South port after');
  t.like(result, {
    headings: [{ level: 2, text: 'North' }],
    images: [{ url: `${origin}/n.png`, alt: 'N' }],
    links: [{ url: `${origin}/n`, text: 'more' }],
  });
});

const REFRESHES: Readonly<Record<string, Answer>> = {
  '/meta': '<title>Moved</title><meta http-equiv=refresh content="0; url=/target">',
  '/quoted': `<META content="0,URL='target'" HTTP-EQUIV=" Refresh">`,
  '/bare': '<body><meta http-equiv="refresh" content=".9 /target#part">',
  '/escaped': '<meta http-equiv="&#82;efresh" content="0;url=/target">',
  '/wide': {
    headers: { 'Content-Type': 'text/html; charset=utf-16le' },
    body: Buffer.from('<meta http-equiv=refresh content="0;url=/target">', 'utf16le'),
  },
  '/header': { headers: { Refresh: '0;url=/target' }, body: 'moved' },
  '/chain': { status: 302, headers: { Location: '/meta' }, body: '' },
  '/based': '<base href=/sub/><meta http-equiv=refresh content="0;url=../target">',
};
for (const path of Object.keys(REFRESHES))
  test.serial(`a refresh after 0 s is followed: ${path}`, async (t) => {
    const { origin, egress } = await open(t, { ...REFRESHES, '/target': '<title>Target page</title>' });
    const target = { title: 'Target page' };
    t.like(await scrape.call({ url: origin + path }, { egress }), {
      ...target,
      finalUrl: `${origin}/target`,
    });
    t.like(await seo.call({ url: origin + path }, { egress }), { ...target, url: `${origin}/target` });
  });

test.serial('the page to which a refresh leads gets the cookies of the one before', async (t) => {
  const body = '<title>Wall</title><meta http-equiv=refresh content="0;url=/in">';
  const { origin, egress } = await serve(t, ({ url, headers }, response) => {
    const isKnown = url === '/in' && headers.cookie === 'seen=1';
    response.writeHead(200, { 'Content-Type': 'text/html', 'Set-Cookie': 'seen=1' });
    response.end(isKnown ? '<title>In</title>' : body);
  });
  t.like(await scrape.call({ url: `${origin}/` }, { egress }), { title: 'In' });
});

test.serial('a page that a browser shows first is not left', async (t) => {
  const stays = {
    '/later': '<title>Here</title><meta http-equiv=refresh content="1;url=/target">',
    '/self':
      '<title>Here</title><meta http-equiv=refresh content=0><meta http-equiv=refresh content="0;url=#part">',
    '/noscript': '<title>Here</title><noscript><meta http-equiv=refresh content="0;url=/target"></noscript>',
    '/shadow': `<title>Here</title><div>${root('<meta http-equiv=refresh content="0;url=/target">')}</div>`,
    '/mail': '<title>Here</title><meta http-equiv=refresh content="0;url=mailto:a@b.test">',
  };
  const { origin, egress } = await open(t, stays);
  for (const path of Object.keys(stays))
    t.like(await seo.call({ url: origin + path }, { egress }), { title: 'Here' }, path);
});

test.serial('the target of a refresh is vetted, and endless ones end', async (t) => {
  const { origin, egress } = await open(t, {
    '/private': '<meta http-equiv=refresh content="0;url=http://10.0.0.1/">',
    '/a': '<meta http-equiv=refresh content="0;url=/b">',
    '/b': '<meta http-equiv=refresh content="0;url=/a">',
  });
  await t.throwsAsync(scrape.call({ url: `${origin}/private` }, { egress }), { code: 'target_refused' });
  await t.throwsAsync(scrape.call({ url: `${origin}/a` }, { egress }), { code: 'target_failed' });
});
