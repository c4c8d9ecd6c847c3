import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import test from 'ava';
import { GLOBAL_OPTIONS } from '../clients/typescript/src/cli/arguments.ts';
import { flagOf } from '../clients/typescript/src/cli/command.ts';
import { EXIT } from '../clients/typescript/src/cli/exit.ts';
import { run } from '../clients/typescript/src/cli/run.ts';
import { COMMANDS } from '../clients/typescript/src/generated/commands.ts';
import { REMEDIES } from '../clients/typescript/src/generated/errors.ts';
import { UtilityTools, verifyWebhook, WebhookVerificationError } from '../clients/typescript/src/index.ts';
import { ERRORS, isErrorCode } from '../schemas/errors.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { generateSigningSecret, signatureHeaders } from '../schemas/webhookSignature.ts';

const NOW = 1_780_000_000;

/** Runs the command `utility-tools` in an environment in which no service can be reached. */
async function command(...args: string[]): Promise<{ code: number; out: string; progress: string }> {
  const written = { out: '', progress: '' };
  const code = await run(args, {
    env: {},
    out: (data) => {
      written.out += String(data);
    },
    progress: (line) => {
      written.progress += `${line}\n`;
    },
    signal: new AbortController().signal,
  });
  return { code, ...written };
}

function delivery(secrets: readonly string[], timestamp = NOW) {
  const [own = ''] = secrets;
  const body = JSON.stringify({
    id: 'evt_1',
    event: 'webhook.test',
    createdAt: '2026-01-31T09:30:00.000+00:00',
    data: { message: 'Grüße', endpointId: 'whe_1' },
  });
  const message = { id: 'evt_1', event: 'webhook.test', body, timestamp };
  return { headers: Object.fromEntries(signatureHeaders(message, { own, all: secrets })), body };
}

test('a genuine delivery is verified, also during a rotation', async (t) => {
  const [first, second] = [generateSigningSecret(), generateSigningSecret()];
  const both = delivery([first, second]);
  for (const secret of [first, second, [second, first]])
    t.is((await verifyWebhook({ secret, now: NOW, ...both })).id, 'evt_1');
  const raw = { secret: first, now: NOW, headers: new Headers(both.headers) };
  const event = await verifyWebhook({ ...raw, body: new TextEncoder().encode(both.body) });
  t.is(event.event === 'webhook.test' ? event.data.message : '', 'Grüße');
});

test('a delivery that is not genuine is rejected', async (t) => {
  const secret = generateSigningSecret();
  const { headers, body } = delivery([secret]);
  const genuine = { secret, headers, body, now: NOW };
  const { 'webhook-signature': _signature, ...unsigned } = headers;
  for (const [change, message] of [
    [{ body: body.replace('evt_1', 'evt_2') }, /does not match/],
    [{ secret: generateSigningSecret() }, /does not match/],
    [{ headers: { ...headers, 'webhook-signature': 'v1,AAAA v1,% v2,x' } }, /does not match/],
    [{ headers: unsigned }, /webhook-signature is missing/],
    [{ now: NOW + 300 }, /300 seconds/],
    [{ now: NOW - 300 }, /300 seconds/],
    [{ headers: { ...headers, 'webhook-timestamp': 'x' } }, /signed at x/],
  ] as const) {
    const error = await t.throwsAsync(verifyWebhook({ ...genuine, ...change }), { message });
    t.true(error instanceof WebhookVerificationError);
  }
  await t.notThrowsAsync(verifyWebhook({ ...genuine, now: NOW + 299 }));
  await t.throwsAsync(verifyWebhook({ ...genuine, secret: 'wrong' }), { instanceOf: TypeError });
});

test('a key that cannot be sent is refused without being shown', (t) => {
  const error = t.throws(() => new UtilityTools({ apiKey: 'ut_secret\u00e9' }), { instanceOf: TypeError });
  t.false(error?.message.includes('secret'));
  t.throws(() => new UtilityTools({ apiKey: '' }), { message: /dashboard.*UTILITY_TOOLS_API_KEY/ });
  t.throws(() => new UtilityTools({ apiKey: 'ut_x', baseUrl: 'localhost:8080' }), { message: /http/ });
});

test('errors and their advice name no headers to those who see none', (t) => {
  // These follow from requests that no client sends.
  const httpOnly = ['method_not_allowed', 'unsupported_media_type', 'invalid_header'];
  const header = /\b(?:X-|Retry-After|RateLimit|Idempotency-Key|Authorization|Accept|Content-|Prefer)/;
  for (const [code, advice] of Object.entries(REMEDIES)) {
    if (httpOnly.includes(code) || !isErrorCode(code)) continue;
    t.notRegex(`${ERRORS[code].detail} ${advice}`, header, code);
  }
});

test('the command lists every tool, and the help of a tool its fields', async (t) => {
  const { out } = await command('--help');
  for (const [name, tool] of await loadRegistry()) {
    t.true(out.includes(`  ${name} `), name);
    const help = (await command(name, '--help')).out;
    for (const other of [
      'login',
      'balance',
      'calls',
      'jobs',
      'result',
      'cancel',
      'batch',
      'listen',
      'completion',
    ])
      t.regex(out, new RegExp(`^ {2}${other}`, 'm'));
    for (const option of COMMANDS.find((it) => it.name === name)?.options ?? []) {
      t.true(Object.hasOwn(tool.input.properties, option.field));
      t.true(
        new RegExp(`^ {2}--(?:\\[no-\\])?${flagOf(option)}(?: |$)`, 'm').test(help),
        `${name} ${option.field}`,
      );
      t.false(Object.hasOwn(GLOBAL_OPTIONS, flagOf(option)), `${name} ${option.field}`);
    }
  }
});

test('the error of an invalid command line names the mistake', async (t) => {
  for (const [args, message] of [
    [['hash'], /no tool "hash"/],
    [['hash-text'], /--text is missing/],
    [['hash-text', '--txt', 'a'], /Unknown option '--txt'/],
    [['hash-text', '--text', 'a', '-o', 'x'], /creates no file/],
    [['qr-generate', '--text', 'a'], /Add -o FILE/],
    [['ping', '--host', 'a', '--count', 'many'], /--count takes a number/],
    [['hash-text', '--input', '/does/not/exist'], /cannot be read/],
    [['hash-text', '--text', 'a'], /UTILITY_TOOLS_API_KEY is not set/],
    [['balance'], /UTILITY_TOOLS_ACCOUNT_KEY is not set/],
    [['calls', '--limit', '0'], /--limit takes a positive integer/],
    [['calls', '--state', 'wrong'], /--state is one of running, charged/],
    [['result'], /takes one argument/],
    [['jobs', 'more'], /takes no arguments/],
    [['jobs', '--unknown'], /Unknown option '--unknown'/],
    [['listen', '--forward', 'localhost:80'], /--forward takes an http or https URL/],
    [['listen', '--forward', 'http://localhost', '--secret', 'x'], /whsec_/],
    [['completion', 'tcsh'], /one of bash, zsh, fish/],
  ] as const) {
    const { code, out, progress } = await command(...args);
    t.is(code, EXIT.usage.code, args.join(' '));
    t.is(out, '');
    t.regex(progress, message);
  }
});

test('the version is that of the package', async (t) => {
  const manifest = JSON.parse(
    readFileSync(new URL('../clients/typescript/package.json', import.meta.url), 'utf8'),
  );
  t.is((await command('--version')).out, `${manifest.version}\n`);
});

test('bash completes commands, and the options of a tool', async (t) => {
  const script = (await command('completion', 'bash')).out;
  const complete = async (...words: string[]): Promise<string[]> => {
    const state = `COMP_WORDS=(utility-tools ${words.join(' ')}); COMP_CWORD=${words.length}; _utility_tools`;
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `${script}${state}; printf '%s\n' "\${COMPREPLY[@]}"`,
    ]);
    return stdout.trim().split('\n');
  };
  t.deepEqual(await complete('hash'), ['hash-text']);
  t.deepEqual(await complete('li'), ['listen']);
  t.deepEqual(await complete('website-screenshot', '--full'), ['--full-page']);
  t.deepEqual(await complete('hash-text', '--max'), ['--max-credits']);
  t.deepEqual(await complete('calls', '--st'), ['--state']);
});

test('the README documents the exit codes', (t) => {
  const readme = readFileSync(new URL('../clients/typescript/README.md', import.meta.url), 'utf8');
  const codes = [...readme.matchAll(/^\| +(\d+) \|/gm)].map(([, code]) => Number(code));
  t.deepEqual(
    codes,
    Object.values(EXIT).map(({ code }) => code),
  );
});
