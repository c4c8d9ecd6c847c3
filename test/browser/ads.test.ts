import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { DEBIAN_LISTS, openAds } from '../../activities/browser/ads.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('website-screenshot');
const folder = await mkdtemp(join(tmpdir(), 'utility-tools-ads-'));
await writeFile(
  join(folder, 'list.txt'),
  '! a list\n||ads.example.com^\n||tracker.example.net^$third-party\n/pixel-ad.\n',
);
test.after.always(() => rm(folder, { recursive: true }));

test('requests for ads, trackers and private targets are blocked and counted', async (t) => {
  const ads = await openAds(folder, join(folder, 'cache'));
  const site = await startSite({
    '/': (request, response) => {
      const port = request.socket.localPort;
      const ad = `http://ads.example.com:${port}`;
      const tracker = `http://tracker.example.net:${port}`;
      response.setHeader('Content-Type', 'text/html').end(`<!doctype html><title>T</title>
        <link rel="stylesheet" href="/own.css"><link rel="stylesheet" href="${ad}/ad.css">
        <img src="/own.svg"><img src="${ad}/ad-1"><img src="${ad}/ad-2"><img src="/pixel-ad.gif">
        <script src="${ad}/ad.js"></script><script src="${tracker}/ad.js"></script>
        <iframe src="${ad}/ad-frame"></iframe><iframe srcdoc="<img src='${ad}/ad-inner'>"></iframe>
        <script>
          fetch('${ad}/ad-fetch', { mode: 'no-cors' }).catch(() => 0);
          const x = new XMLHttpRequest(); x.open('GET', '${tracker}/ad-xhr'); x.send();
          fetch('/own-fetch').catch(() => 0);
          new Worker(URL.createObjectURL(new Blob(["fetch('${ad}/ad-worker',{mode:'no-cors'})"])));
        </script>
        <img src="http://10.0.0.1/private"><img src="http://10.0.0.2/private">`);
    },
    '/own-fetch': 'x',
    '/own.css': (_, response) => response.setHeader('Content-Type', 'text/css').end(''),
  });
  await using resource = await openBrowsers({ ads });
  t.teardown(() => site.close());
  const call = async (blockAds: boolean) => {
    site.requests.length = 0;
    const { blockedRequestCount } = await tool.call(
      { url: `${site.origin}/`, blockAds },
      { egress: site.guard(), resource },
    );
    return {
      blockedRequestCount,
      ads: site.requests.filter((request) => request.includes('/ad') || request.includes('-ad.')),
    };
  };
  const open = await call(false);
  t.is(open.blockedRequestCount, 2);
  t.is(open.ads.length, 11, `${open.ads}`);
  const blocked = await call(true);
  t.deepEqual(blocked.ads, []);
  t.is(blocked.blockedRequestCount, 11 + 2);
  t.true(site.requests.includes('GET /own-fetch') && site.requests.includes('GET /own.css'));
});

test('the filter engine is built once for each set of lists', async (t) => {
  const cache = join(folder, 'built');
  t.not(await openAds(folder, cache), null);
  const [first] = await readdir(cache);
  t.not(await openAds(folder, cache), null);
  t.deepEqual(await readdir(cache), [first ?? '']);
  await writeFile(join(folder, 'more.txt'), '||other.example.com^\n');
  await openAds(folder, cache);
  t.is((await readdir(cache)).length, 2);
  // A damaged cache file is replaced by a newly built one.
  await writeFile(join(cache, first ?? ''), 'damaged');
  await rm(join(folder, 'more.txt'));
  t.not(await openAds(folder, cache), null);
  t.is(await openAds(cache, cache), null);
});

test("Debian's filter lists are found and match well-known hosts", async (t) => {
  const ads = await openAds(DEBIAN_LISTS, join(folder, 'debian'));
  const isAd = (url: string, type: string) =>
    ads?.matches({ url, type, sourceUrl: 'https://news.example.com/' }) ?? null;
  t.true(isAd('https://securepubads.g.doubleclick.net/tag/js/gpt.js', 'script'));
  t.true(isAd('https://www.google-analytics.com/analytics.js', 'script'));
  t.false(isAd('https://news.example.com/style.css', 'stylesheet'));
});
