import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import test from 'ava';
import { parse } from 'yaml';
import { machineEnv } from '../../dev/host.mjs';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { recordAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget, type SharedStack } from '../helpers/stack.ts';

const FOLDER = new URL('../../clients/github-action/', import.meta.url);
const PAGE =
  '<!doctype html><title>Ferries</title><a href="/times">Times</a><a href="/gone">Prices, 2019</a>';

const owned = new AsyncDisposableStack();
let stack: SharedStack;
let account: TestAccount;
let [site, secure] = ['', ''];
/** Whether the page still has its broken link. */
let isMended = false;

test.before(async () => {
  stack = await useStack();
  owned.defer(() => stack.stop());
  account = await makeAccount(stack, 100);
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/gone' && !isMended ? 404 : 200, { 'Content-Type': 'text/html' }).end(PAGE);
  });
  owned.defer(() => server[Symbol.asyncDispose]());
  site = await listenAsTarget(server);
  const tls = createTlsServer(await makeCertificate(['DNS:www.example.com'], 5));
  owned.defer(() => tls[Symbol.asyncDispose]());
  secure = await listenAsTarget(tls);
});
test.after.always(() => owned.disposeAsync());

interface Step {
  code: number;
  /** Lines of the log. */
  log: string[];
  outputs: Record<string, string>;
  summary: string;
}

/** Runs the action as the runner of GitHub does, with the defaults of its inputs. */
async function runStep(inputs: Readonly<Record<string, string>>): Promise<Step> {
  const folder = await mkdtemp(join(tmpdir(), 'action-'));
  try {
    const action = recordAt(parse(await readFile(new URL('action.yml', FOLDER), 'utf8')));
    const defaults = Object.entries(recordAt(action, 'inputs')).map(([name, it]) => [
      name,
      recordAt(it).default,
    ]);
    const given = Object.entries({ ...Object.fromEntries(defaults), ...inputs });
    const env = {
      ...machineEnv(),
      ...Object.fromEntries(
        given.map(([name, value]) => [`INPUT_${name.toUpperCase()}`, String(value ?? '')]),
      ),
      GITHUB_OUTPUT: join(folder, 'output'),
      GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    };
    const main = new URL(String(recordAt(action, 'runs').main), FOLDER);
    const { code, stdout } = await new Promise<{ code: number; stdout: string }>((resolve) => {
      execFile(process.execPath, [main.pathname], { env, timeout: 110_000 }, (error, stdout) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout }),
      );
    });
    const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '');
    const outputs = [...(await read('output')).matchAll(/^([\w-]+)<<(\S+)\n(.*?)\n\2$/gms)];
    return {
      code,
      log: stdout.trimEnd().split('\n'),
      outputs: Object.fromEntries(outputs.map(([, name = '', , value = '']) => [name, value])),
      summary: await read('summary'),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const own = () => ({ 'api-url': stack.baseUrl, 'api-key': account.toolsKey });

test.serial('a broken link fails the step with an annotation, and no broken link passes it', async (t) => {
  const inputs = { ...own(), check: 'broken-links', target: `http://${site}/` };
  const broken = await runStep(inputs);
  t.is(broken.code, 1);
  const title = `http%3A//${site.replace(':', '%3A')}/`;
  t.is(broken.log.length, 1);
  t.true(
    broken.log[0]?.startsWith(`::error title=broken-links ${title}::http://${site}/gone (Prices, 2019): `),
  );
  t.is(broken.outputs.faults, '1');
  t.like(JSON.parse(broken.outputs.result ?? ''), { checked: 2, totalFound: 2 });
  t.regex(broken.summary, /^### broken-links: .*\n\n- http:\S+\/gone \(Prices, 2019\): /);
  isMended = true;
  t.like(await runStep(inputs), { code: 0, log: ['2 of 2 links checked, none is broken.'] });
});

test('a certificate that ends too soon is named with its days', async (t) => {
  const inputs = { ...own(), check: 'ssl-check', target: secure };
  const early = await runStep(inputs);
  t.is(early.code, 1);
  t.true(
    early.log.some((line) => /::The certificate ends in [45] days, on 20\d\d-/.test(line)),
    early.log.join('\n'),
  );
  const late = await runStep({ ...inputs, 'min-days': '3' });
  t.false(late.log.some((line) => line.includes('ends in')));
  // The certificate is self-signed and for another host.
  t.is(late.outputs.faults, '2');
});

test('a step without a valid key or target fails with the reason and is not charged', async (t) => {
  const inputs = { ...own(), check: 'broken-links', target: `http://${site}/` };
  const refused = await runStep({ ...inputs, 'api-key': `ut_${'0'.repeat(36)}` });
  t.is(refused.code, 1);
  t.regex(refused.log.join('\n'), /^::error::.*key/i);
  const { log } = await runStep({ ...inputs, target: 'not an address' });
  t.regex(log.join('\n'), /^::error::.+/);
  t.regex(
    (await runStep({ ...inputs, check: 'ping' })).log.join('\n'),
    /^::error::The input check is none of /,
  );
});
