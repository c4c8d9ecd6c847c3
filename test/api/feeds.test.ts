import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { statusFeed } from '../../api/status/statusPage.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { type ParsedFeed, parseFeed } from '../helpers/atom.ts';
import { useStack } from '../helpers/profiles.ts';

const stack = await useStack();
test.after.always(() => stack.stop());

async function feedAt(path: string): Promise<ParsedFeed> {
  const response = await fetch(`${stack.baseUrl}${path}`);
  if (response.headers.get('content-type') !== 'application/atom+xml; charset=utf-8')
    throw new Error(`${path}: ${response.status} ${response.headers.get('content-type')}`);
  const feed = parseFeed(await response.text());
  if (feed.links.self !== `${stack.baseUrl}${path}`) throw new Error(`${path}: ${feed.links.self}`);
  return feed;
}

/** Whether a page links to a feed, in its head and in its text. */
const namesFeed = (page: string, path: string): boolean =>
  page.includes(`<link rel="alternate" type="application/atom+xml" href="${path}"`) &&
  page.includes(`<a href="${path}">`);

test('the changelog has days, and each subject of a day is an entry of its feed', async (t) => {
  const file = await readFile('docs/changelog.md', 'utf8');
  const days = [...file.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
  t.true(days.length > 0);
  for (const day of days) t.regex(day, /^\d{4}-\d{2}-\d{2}(: .+)?$/);
  t.deepEqual(days, days.toSorted().toReversed());

  const feed = await feedAt('/docs/changelog.atom');
  const page = await (await fetch(`${stack.baseUrl}/docs/changelog`)).text();
  t.true(namesFeed(page, '/docs/changelog.atom'));
  // Every change is in the feed once.
  const changes = file.match(/^- /gm)?.length ?? 0;
  const listed = feed.entries.reduce((sum, { html }) => sum + html.split('<li>').length - 1, 0);
  t.is(listed, changes);
  t.is(new Set(feed.entries.map(({ id }) => id)).size, feed.entries.length);
  t.is(feed.updated, `${days[0]?.slice(0, 10)}T00:00:00.000Z`);
  for (const { links, html, updated } of feed.entries) {
    const [url = '', anchor = ''] = String(links.alternate).split('#');
    t.is(url, `${stack.baseUrl}/docs/changelog`);
    t.true(page.includes(`<h2 id="${anchor}">`), anchor);
    t.true(days.some((day) => updated.startsWith(day.slice(0, 10))));
    t.notRegex(html, /href="(?!https?:\/\/)/);
  }
});

test('the status page has a feed of incidents', async (t) => {
  await feedAt('/status.atom');
  t.true(namesFeed(await (await fetch(`${stack.baseUrl}/status`)).text(), '/status.atom'));

  const [open, ended] = [randomUUID(), randomUUID()].map((id) => `inc_${id}`);
  const incident = { component: 'cpu', failures: 8 } as const;
  const text = 'A disk\u0007 was full. <b>It & others are larger now.</b>';
  const incidents = [
    { ...incident, _id: `${open}`, startedAt: new Date('2026-01-02T00:00:00Z'), endedAt: null, updates: [] },
    {
      ...incident,
      _id: `${ended}`,
      startedAt: new Date('2026-01-01T10:00:00Z'),
      endedAt: new Date('2026-01-01T10:08:00Z'),
      updates: [{ reference: 'r', at: new Date('2026-01-01T12:00:00Z'), text }],
    },
  ];
  const registry = await loadRegistry();
  const feed = parseFeed(statusFeed({ incidents }, registry, 'https://tools.example'));
  t.is(feed.updated, '2026-01-02T00:00:00.000Z');
  t.deepEqual(
    feed.entries.map(({ id, title, updated }) => [id.split('#')[1], title, updated]),
    [
      [open, 'Outage: Processing tools (open)', '2026-01-02T00:00:00.000Z'],
      [ended, 'Outage: Processing tools (resolved)', '2026-01-01T12:00:00.000Z'],
    ],
  );
  t.true(
    feed.entries[1]?.html.includes('A disk was full. &lt;b&gt;It &amp; others are larger now.&lt;/b&gt;'),
  );
  t.regex(feed.entries[1]?.html ?? '', /to .*2026-01-01 10:08 UTC.*8 minutes/);
  t.is(parseFeed(statusFeed({ incidents: [] }, registry, 'https://tools.example')).entries.length, 0);
});
