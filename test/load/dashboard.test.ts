import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '../../workers/platform/listen.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { internalUrlOf } from '../helpers/processLog.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const POOLS = ['orchestrator', 'delivery', 'cpu', 'browser'];
/** Time series that do not exist in this test, because only an event that it does not cause creates them. */
const QUIET = /mails_total|pool_busy/;

const open = new AsyncDisposableStack();
test.after.always(() => open.disposeAsync());

/** Starts Prometheus with the project's rules, scraping these targets. @returns its URL */
async function startPrometheus(targets: readonly string[]): Promise<string> {
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'prometheus-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  await cp('deploy/prometheus/rules.yml', join(folder, 'rules.yml'));
  await writeFile(
    join(folder, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '5s' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'utility-tools', static_configs: [{ targets }] }],
    }),
  );
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=data',
      `--web.listen-address=${address}`,
      '--log.level=error',
    ],
    { cwd: folder, stdio: 'ignore' },
  );
  const exit = once(child, 'exit');
  open.defer(async () => {
    child.kill();
    await exit;
  });
  await until('Prometheus is ready', () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return `http://${address}`;
}

test('a real Prometheus can run every query of the dashboard and evaluate every rule', async (t) => {
  t.timeout(300_000);
  const stack = open.adopt(await startStack({ pools: POOLS, env: { LOG_LEVEL: 'info' } }), (it) => it.stop());
  const urls = await Promise.all(['api', ...POOLS].map((name) => internalUrlOf(stack, name)));
  const targets = urls.map((url) => new URL(url).host);
  const url = await startPrometheus(targets);
  const get = async (path: string) =>
    recordAt({ answer: await (await fetch(`${url}/api/v1/${path}`)).json() }, 'answer');

  const account = await makeAccount(stack, 1000);
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  await account.manage('/api/v1/account/webhooks', { url: receiver.url });
  t.is((await account.call('html-to-image', { html: 'x' })).status, 200);
  // `rate` needs two samples after a time series has begun.
  const call = () => account.call('hash-text', { text: 'a' });
  t.is((await call()).status, 200);
  await account.manage('/api/v1/account/keys', { name: 'x', scopes: ['tools'] });
  await receiver.until(1);

  const dashboard: unknown = JSON.parse(await readFile('deploy/grafana/dashboard.json', 'utf8'));
  const queries = recordsAt(recordAt({ dashboard }, 'dashboard').panels)
    .flatMap(({ targets }) => recordsAt(targets))
    .map(({ expr }) => String(expr).replaceAll('$__rate_interval', '1m'));
  t.true(queries.length > 20);
  for (const query of queries) {
    const path = `query?query=${encodeURIComponent(query)}`;
    const { status, error } = await get(path);
    t.is(status, 'success', `${query}: ${error}`);
    if (QUIET.test(query)) continue;
    const found = await until(`${query} has a value`, async () => {
      const answer = await get(path);
      return recordsAt(recordAt(answer, 'data').result).length > 0;
    });
    t.true(found);
  }

  const rules = await until('every rule was evaluated', async () => {
    const groups = recordsAt(recordAt(await get('rules'), 'data').groups);
    const all = groups.flatMap((group) => recordsAt(group.rules));
    return all.length > 0 && all.every(({ health }) => health !== 'unknown') && all;
  });
  for (const { name, health, lastError } of rules) t.is(health, 'ok', `${name}: ${lastError}`);
});
