import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import type { Boundary } from '../../activities/browser/boundary.ts';
import {
  findBrowser,
  isBrowser,
  isRenderer,
  launchChromium,
  openBrowsers,
  type Site,
  startSite,
} from '../helpers/browser.ts';
import { type Canary, startCanaries } from '../helpers/canaries.ts';
import { soon } from '../helpers/egress.ts';
import { processesWith } from '../helpers/processes.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';
import { ATTEMPTS } from './connectionAttempts.ts';

const tool = await loadTool('website-screenshot');

/** Starts a website with a page that tries to connect in every known way. */
async function startHostile(t: ExecutionContext): Promise<{ site: Site; canaries: Canary[] }> {
  const { canaries, close } = await startCanaries(ATTEMPTS.length);
  const body = ATTEMPTS.map(({ html }, index) => {
    const port = canaries[index]?.port ?? 0;
    return html(`http://127.0.0.1:${port}/`, port);
  }).join('\n');
  const target = (url = '') => decodeURIComponent(url.split('?')[1] ?? '');
  const site = await startSite({
    '/': `<!doctype html><title>Hostile</title><body>${body}`,
    '/redirect': (request, response) => response.writeHead(302, { Location: target(request.url) }).end(),
    '/linked': (request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'text/html',
          Link: `<${target(request.url)}>; rel=preload; as=image`,
        })
        .end('<p>linked'),
    '/csp': (request, response) =>
      response
        .writeHead(200, {
          'Content-Type': 'text/html',
          'Content-Security-Policy': `default-src 'none'; report-uri ${target(request.url)}`,
        })
        .end('<img src="/blocked">'),
    '/sw': (request, response) =>
      response
        .writeHead(200, { 'Content-Type': 'text/javascript' })
        .end(`fetch('${target(request.url)}',{mode:'no-cors'})`),
  });
  t.teardown(() => {
    close();
    site.close();
  });
  return { site, canaries };
}

/** Ways of connecting that request interception does not see, some of them over UDP. */
const UNSEEN = ['STUN over UDP', 'TURN over TCP', 'worker WebSocket', 'prefetch', 'popup', 'csp report'];

const reachedBy = (canaries: readonly Canary[]): string[] =>
  ATTEMPTS.filter((_, index) => (canaries[index]?.hits ?? 0) > 0).map(({ name }) => name);

async function visit(t: ExecutionContext, boundary: Boundary): Promise<string[]> {
  const { site, canaries } = await startHostile(t);
  {
    await using resource = await openBrowsers({ boundary });
    const result = await tool.call(
      // The page stays open for a while, because it may open further connections late.
      { url: `${site.origin}/`, blockAds: false, waitFor: 1_000 },
      { egress: site.guard(), resource },
    );
    t.is(result.pageTitle, 'Hostile');
    t.true(Number(result.blockedRequestCount) >= 30, `${result.blockedRequestCount}`);
  }
  return reachedBy(canaries);
}

test.serial(
  'Chromium runs as an unprivileged user in its own sandbox, with low priority and loopback as its only network',
  async (t) => {
    await using resource = await openBrowsers();
    const site = await startSite({});
    t.teardown(() => site.close());
    const found = await resource.run({ egress: site.guard(), ...soon() }, async () =>
      processesWith(resource.folder)
        .filter((line) => isBrowser(line) || isRenderer(line))
        .map((line) => {
          const pid = Number.parseInt(line, 10);
          const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
          return {
            line,
            niceness: getPriority(pid),
            status: read('status'),
            limits: read('limits'),
            networks: read('net/dev').match(/^ *[^ |:]+(?=:)/gm),
          };
        }),
    );
    t.true(found.some(({ line }) => isBrowser(line)) && found.some(({ line }) => isRenderer(line)));
    for (const { line, niceness, status, limits, networks } of found) {
      t.true(niceness > getPriority(), line);
      t.false(line.includes('--no-sandbox'), line);
      t.notRegex(status, /^Uid:\s+0\b/m, line);
      // No effective capabilities.
      t.regex(status, /^CapEff:\s+0+$/m, line);
      t.regex(limits, /^Max core file size +0 +0 /m, line);
      t.deepEqual(
        networks?.map((name) => name.trim()),
        ['lo'],
        line,
      );
      // Value 2 means that system calls are filtered by seccomp (proc_pid_status(5)).
      if (isRenderer(line)) t.regex(status, /^Seccomp:\s+2$/m, line);
    }
  },
);

test.serial('a network namespace blocks all connections', async (t) => {
  t.deepEqual(await visit(t, { namespace: 'tree', sandbox: true }), []);
});

test.serial('the Chromium flags alone block all connections', async (t) => {
  t.deepEqual(await visit(t, { namespace: 'none', sandbox: true }), []);
});

test.serial('without a namespace and flags, at least forty kinds of connections succeed', async (t) => {
  const { site, canaries } = await startHostile(t);
  const flags = [
    '--disable-popup-blocking',
    // Resolves the host of the rebinding attempt to this machine, and blocks all other DNS lookups.
    '--host-resolver-rules=MAP rebind.example.com 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE 0.0.0.0',
  ];
  const browser = await launchChromium(flags, await findBrowser());
  try {
    const page = await browser.newPage();
    await page.goto(`${site.origin}/`, { waitUntil: 'load', timeout: 60_000 });
    const isEnough = async () => {
      const reached = reachedBy(canaries);
      return reached.length >= 40 && UNSEEN.every((name) => reached.includes(name));
    };
    // The assertions below say what is missing.
    await until('enough connections have succeeded', isEnough, 60_000).catch((error) => t.log(String(error)));
  } finally {
    await browser.close();
  }
  const successful = reachedBy(canaries);
  t.log(`failed: ${ATTEMPTS.filter(({ name }) => !successful.includes(name)).map(({ name }) => name)}`);
  t.true(successful.length >= 40, `${successful.length}`);
  for (const name of UNSEEN) t.true(successful.includes(name), name);
});
