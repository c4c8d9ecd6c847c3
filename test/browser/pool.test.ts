import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import { processTree } from '../../activities/browser/processes.ts';
import { isBrowser, isRenderer, openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { soon } from '../helpers/egress.ts';
import { processesWith, remaining, stillAlive } from '../helpers/processes.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

const tool = await loadTool('website-screenshot');
const PAGE = '<!doctype html><title>T</title><h1>hello</h1>';
let site: Site;
/** Called while the browser waits for the response of the page at `/fault`. */
let injectFault: () => void = () => undefined;

test.before(async () => {
  site = await startSite({
    '/': PAGE,
    '/fault': (_, response) => {
      injectFault();
      response.setHeader('Content-Type', 'text/html').end(PAGE);
    },
  });
});
test.after.always(() => site?.close());

type Pool = Awaited<ReturnType<typeof openBrowsers>>;
const shoot = (resource: Pool, path = '/', deadline = Date.now() + 60_000) =>
  tool.call(
    { url: site.origin + path, width: 200, height: 200 },
    { egress: site.guard(), resource, deadline },
  );
/** Returns the pids of the pool's processes whose command line matches. */
const pidsOf = ({ folder }: Pool, matches = (_: string) => true): number[] =>
  processesWith(folder)
    .filter(matches)
    .map((line) => Number.parseInt(line, 10));

/** Returns the pids of the process tree of a pool with one browser, root first. */
const browserPids = (resource: Pool): Promise<number[]> =>
  resource.run({ egress: site.guard(), ...soon() }, async () => {
    const [largest = []] = pidsOf(resource)
      .map(processTree)
      .sort((a, b) => b.length - a.length);
    return largest;
  });

test.serial(
  'browsers are replaced after a number of calls without delaying the next call, and leave no process or file',
  async (t) => {
    const resource = await openBrowsers({ jobs: [3, 3] });
    const { folder, metrics } = resource;
    for (let job = 0; job < 8; job++) t.is((await shoot(resource)).pageTitle, 'T');
    // Calls use the first browser until the next one has started.
    await until('the next browser has started', async () => metrics.browsers.started >= 2);
    t.is((await shoot(resource)).pageTitle, 'T');
    await until('a browser is replaced', async () => metrics.browsers.recycled >= 1);
    t.is(metrics.browsers.crashed, 0);
    t.is(metrics.jobs, 9);
    t.is(metrics.queued + metrics.running, 0);
    await resource[Symbol.asyncDispose]();
    t.deepEqual(await remaining(folder), []);
    t.false(existsSync(folder));
  },
);

for (const signal of ['SIGKILL', 'SIGSTOP'] as const)
  test.serial(`the slot is available again after its browser receives ${signal}`, async (t) => {
    await using resource = await openBrowsers();
    await shoot(resource);
    const pids = await browserPids(resource);
    await until('the browser has prepared its next page', async () => resource.countReady() === 1);
    const living = pids.slice(1).filter((pid) => existsSync(`/proc/${pid}`));
    // Children first, because the kernel ends all processes of the namespace with its first process.
    for (const pid of living.reverse()) process.kill(pid, signal);
    t.is((await shoot(resource)).pageTitle, 'T');
    t.deepEqual(await stillAlive(pids), []);
    t.true(resource.metrics.browsers[signal === 'SIGKILL' ? 'crashed' : 'hung'] >= 1);
  });

test.serial('a call that times out or is cancelled frees its slot at once', async (t) => {
  await using resource = await openBrowsers();
  await shoot(resource);
  /** Returns the error of a job that never ends. Doubles the timeout until the job has time to start. */
  const timeoutErrorOf = async (ms: number): Promise<unknown> => {
    let started = false;
    const job = resource.run({ egress: site.guard(), ...soon(ms) }, () => {
      started = true;
      return new Promise(() => undefined);
    });
    const error: unknown = await job.catch((reason: unknown) => reason);
    return started ? error : timeoutErrorOf(2 * ms);
  };
  t.like(await timeoutErrorOf(2_000), { name: 'TimeoutError' });
  t.is((await shoot(resource)).pageTitle, 'T');
  const caller = new AbortController();
  const reason = new Error('hung up');
  const called = resource.run(
    { egress: site.guard(), signal: caller.signal, deadline: Date.now() + 60_000 },
    async () => {
      caller.abort(reason);
      await new Promise(() => undefined);
    },
  );
  t.is(await t.throwsAsync(called), reason);
  t.is((await shoot(resource)).pageTitle, 'T');
  // A call that times out in the queue is never given a browser.
  const { jobs } = resource.metrics;
  const waited = Promise.withResolvers<void>();
  const busy = resource.run({ egress: site.guard(), ...soon() }, () => waited.promise);
  const waiting = resource.run({ egress: site.guard(), ...soon(200) }, async () => t.fail());
  await t.throwsAsync(waiting, { code: 'tool_unavailable' });
  waited.resolve();
  await busy;
  await shoot(resource);
  t.is(resource.metrics.jobs, jobs + 2);
});

for (const [name, matches] of [
  ['browser', isBrowser],
  ['tab', isRenderer],
] as const)
  test.serial(`a page whose ${name} crashes is retried in a second browser, then reported`, async (t) => {
    await using resource = await openBrowsers();
    await shoot(resource);
    let crashes = 1;
    injectFault = () => {
      crashes -= 1;
      if (crashes >= 0) for (const pid of pidsOf(resource, matches)) process.kill(pid, 'SIGKILL');
    };
    t.is((await shoot(resource, '/fault')).pageTitle, 'T');
    crashes = 2;
    await t.throwsAsync(shoot(resource, '/fault'), {
      code: 'target_failed',
      message: 'The page crashed the browser.',
    });
    t.is(crashes, 0);
    t.is((await shoot(resource)).pageTitle, 'T');
    t.is(resource.metrics.browsers[name === 'browser' ? 'crashed' : 'discarded'], 3);
  });

test.serial('the loss of an idle browser does not delay calls', async (t) => {
  await using resource = await openBrowsers({ slots: 2 });
  const first = await browserPids(resource);
  await shoot(resource);
  // Guards against the pid 0, with which `kill` would signal the test's own process group.
  t.true((first[0] ?? 0) > 0);
  process.kill(first[0] ?? Number.NaN, 'SIGKILL');
  t.deepEqual(await stillAlive(first), []);
  await until(
    'the other browser is ready',
    async () => resource.metrics.browsers.started === 2 && resource.countReady() === 1,
  );
  await shoot(resource);
  // Only the two browsers of the pool were started, which start before the first call; no call waited for a start.
  t.is(resource.metrics.browsers.started, 2);
});

test.serial('a browser that freezes during a call fails that call with deadline_exceeded', async (t) => {
  await using resource = await openBrowsers();
  await shoot(resource);
  let stopped: number[] = [];
  injectFault = () => {
    stopped = pidsOf(resource);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  };
  await until('the browser has prepared its next page', async () => resource.countReady() === 1);
  await t.throwsAsync(shoot(resource, '/fault', Date.now() + 15_000), { code: 'deadline_exceeded' });
  t.true(stopped.length > 0);
  t.is((await shoot(resource)).pageTitle, 'T');
  t.deepEqual(await stillAlive(stopped), []);
});

test.serial('the number of concurrent calls equals the number of slots', async (t) => {
  await using resource = await openBrowsers({ slots: 2 });
  let most = 0;
  const both = Promise.withResolvers<void>();
  const job = () =>
    resource.run({ egress: site.guard(), ...soon() }, async () => {
      most = Math.max(most, resource.metrics.running);
      if (resource.metrics.running === 2) both.resolve();
      // Holds each job until both run at the same time.
      await both.promise;
    });
  await Promise.all([job(), job(), job(), job()]);
  t.is(most, 2);
});

test.serial('all browsers of a worker end when the worker is killed', async (t) => {
  const script = `
    import { openBrowsers } from '${new URL('../helpers/browser.ts', import.meta.url).href}';
    import { soon } from '${new URL('../helpers/egress.ts', import.meta.url).href}';
    import { startSite } from '${new URL('../helpers/browser.ts', import.meta.url).href}';
    const resource = await openBrowsers();
    const site = await startSite({});
    await resource.run({ egress: site.guard(), ...soon() }, async () => undefined);
    console.log(resource.folder);
    process.kill(process.pid, 'SIGKILL');
  `;
  const child = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]).catch(
    (error: { stdout: string; signal: string }) => error,
  );
  const folder = child.stdout.trim();
  t.regex(folder, /browsers-\d+-/);
  t.deepEqual(await remaining(folder), []);
  // The folder of the killed worker remains, without browser profiles; the next pool removes it.
  await using next = await openBrowsers();
  t.false(existsSync(folder));
  t.true(existsSync(next.folder));
});
