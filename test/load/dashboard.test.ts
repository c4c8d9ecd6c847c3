import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '../../platform/listen.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { internalUrlOf } from '../helpers/processLog.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { freshCredentials, postAuth } from '../helpers/session.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const POOLS = ['orchestrator', 'delivery', 'cpu', 'browser'];
/** The interval that Grafana chooses for Prometheus's usual scrape interval of 15 s. */
const RATE_INTERVAL = '1m';
/** Legends that each panel shows with a number during the calls, requests, webhooks and emails of this test. */
const LEGENDS: Readonly<Record<string, readonly string[]>> = {
  'Calls by outcome': ['ok', 'target_refused'],
  'Calls by tool': ['hash-text', 'html-to-image', 'watermark-image'],
  'Responses by status': ['200', '201', '404', '422'],
  'Credits charged per hour': ['hash-text', 'html-to-image'],
  Readiness: ['api mongodb', 'api temporal', 'api pool tools-cpu', 'delivery worker', 'cpu worker'],
  'Calls and holds that the sweeper ended': ['calls', 'holds'],
  'Calls, 95th percentile by tool': ['hash-text', 'html-to-image', 'watermark-image'],
  'Phases, mean by phase': ['authenticate', 'read', 'start', 'run', 'respond'],
  'Phase run, 95th percentile by tool': ['hash-text', 'html-to-image', 'watermark-image'],
  'Screenshots, mean by phase': ['queue', 'navigate', 'settle', 'capture'],
  'HTTP requests, 95th percentile by route': ['/api/v1/tools/:tool', '/api/v1/account/keys', 'none'],
  Browsers: ['queued', 'running'],
  'Tasks that wait': ['orchestrator', 'delivery', 'tools-cpu', 'tools-browser'],
  'Share of slots in use': ['cpu', 'browser'],
  'Share of calls without a worker in time': ['hash-text', 'html-to-image', 'watermark-image'],
  'Oldest hold': ['hold'],
  'Refunds owed': ['owed'],
  'Oldest refund': ['refund'],
  'Differences of the last audit': ['drift'],
  // No backup has run, and BackupOverdue reports that.
  'Since the last success': ['audit'],
  'Holds older than 10 minutes': ['holds'],
  'Attempts by outcome': ['delivered', 'failed'],
  'Oldest due delivery': ['delivery'],
  'Disabled endpoints': ['disabled'],
  Mails: ['sent', 'failed'],
};

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

/** Reads a path of Prometheus's API. */
async function read(url: string, path: string): Promise<Record<string, unknown>> {
  return recordAt(await (await fetch(`${url}/api/v1/${path}`)).json());
}

/** Runs the query of a panel. Returns the legends of the series whose value is a number. @throws if it is refused */
async function legendsOf(url: string, { expr, legendFormat }: Record<string, unknown>): Promise<string[]> {
  const query = String(expr).replaceAll('$__rate_interval', RATE_INTERVAL);
  const { status, error, data } = await read(url, `query?query=${encodeURIComponent(query)}`);
  if (status !== 'success') throw new Error(`${query}: ${error}`);
  return recordsAt(recordAt(data).result).flatMap(({ metric, value }) => {
    const labels = recordAt(metric);
    const number = Number(Array.isArray(value) ? value[1] : Number.NaN);
    return Number.isFinite(number)
      ? [String(legendFormat).replace(/\{\{(\w+)\}\}/g, (_, label: string) => `${labels[label] ?? '?'}`)]
      : [];
  });
}

test('a real Prometheus has data for every panel of the dashboard and can evaluate every rule', async (t) => {
  t.timeout(300_000);
  const env = { LOG_LEVEL: 'info', SMTP_URL: `smtp://127.0.0.1:${await freePort()}` };
  const stack = open.adopt(await startStack({ pools: POOLS, env }), (it) => it.stop());
  const urls = await Promise.all(['api', ...POOLS].map((name) => internalUrlOf(stack, name)));
  const url = await startPrometheus(urls.map((url) => new URL(url).host));

  const [account, other] = [await makeAccount(stack, 10_000), await makeAccount(stack, 1)];
  const [receiver, failing] = [await startReceiver(), await startReceiver()];
  for (const it of [receiver, failing]) open.defer(() => it.close());
  failing.answer(() => ({ status: 500 }));
  await account.manage('/api/v1/account/webhooks', { url: receiver.url });
  await other.manage('/api/v1/account/webhooks', { url: failing.url });
  const key = { name: 'x', scopes: ['tools'] };
  // Makes the requests that the panels show: some succeed, and some fail.
  const use = async () => {
    const responses = await Promise.all([
      account.call('hash-text', { text: 'a' }),
      account.call('html-to-image', { html: 'x' }),
      account.call('watermark-image', { fileUrl: 'http://127.0.0.1/a.png', text: 'a' }),
      account.manage('/api/v1/account/keys/none/at/all'),
      postAuth(stack.baseUrl, 'sign-up/email', { name: 'Test', ...freshCredentials() }),
      account.manage('/api/v1/account/keys', key),
      other.manage('/api/v1/account/keys', key),
    ]);
    return responses.map(({ status }) => status);
  };
  t.deepEqual(await use(), [200, 200, 422, 404, 200, 201, 201]);

  const dashboard: unknown = JSON.parse(await readFile('deploy/grafana/dashboard.json', 'utf8'));
  const panels = recordsAt(recordAt(dashboard).panels).filter(({ type }) => type !== 'row');
  t.deepEqual(panels.map(({ title }) => title).sort(), Object.keys(LEGENDS).sort());
  const missing = async () => {
    const rows = panels.map(async ({ title, targets }) => {
      const shown = (await Promise.all(recordsAt(targets).map((it) => legendsOf(url, it)))).flat();
      t.false(shown.join().includes('?'), `${title}: a legend names a label that its series do not have`);
      return (LEGENDS[String(title)] ?? [])
        .filter((it) => !shown.includes(it))
        .map((it) => `${title}: ${it}`);
    });
    return (await Promise.all(rows)).flat();
  };
  let lacking: string[] = [];
  await until('every panel shows its legends', async () => {
    await use();
    lacking = await missing();
    return lacking.length === 0;
  }).catch((error) => t.fail(`${error}; missing: ${lacking.join(', ')}`));

  const rules = await until('every rule was evaluated', async () => {
    const groups = recordsAt(recordAt(await read(url, 'rules'), 'data').groups);
    const all = groups.flatMap((group) => recordsAt(group.rules));
    return all.length > 0 && all.every(({ health }) => health !== 'unknown') && all;
  });
  for (const { name, health, lastError } of rules) t.is(health, 'ok', `${name}: ${lastError}`);
});
