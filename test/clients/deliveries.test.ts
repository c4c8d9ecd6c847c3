import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { Headers as UndiciHeaders } from 'undici';
import { type DnsLookupOutput, verifyWebhook } from '../../clients/typescript/src/index.ts';
import { machineEnv } from '../../dev/host.mjs';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { findTestPython } from '../helpers/clientPackages.ts';
import { recordAt } from '../helpers/json.ts';

const run = promisify(execFile);
const SOURCE = fileURLToPath(new URL('../../clients/python/src', import.meta.url));
const SCRIPT = fileURLToPath(new URL('./deliveries.py', import.meta.url));

const NOW = 1_800_000_000;
const secret = generateSigningSecret();
const body =
  '{"id":"evt_1","event":"credits.low","createdAt":"2027-01-15T08:00:00.000+00:00","data":{"balance":24}}';
const signed = new Map(
  signatureHeaders(
    { id: 'evt_1', event: 'credits.low', body, timestamp: NOW },
    { own: secret, all: [secret] },
  ),
);
const genuine = {
  'webhook-id': 'evt_1',
  'webhook-timestamp': `${NOW}`,
  'webhook-signature': signed.get('webhook-signature') ?? '',
};

/** A repeated header as servers and `Headers` join it. */
const JOINED = { ...genuine, 'webhook-signature': `${genuine['webhook-signature']}, v1,AAAA` };

/** Headers that no signature fits, as servers may pass them on. */
const ODD: Record<string, string>[] = [
  { ...genuine, 'webhook-signature': 'v1,\udcff' },
  { ...genuine, 'webhook-signature': 'v1,ü' },
  { ...genuine, 'webhook-signature': `v1,${'A'.repeat(100_000)}` },
  { ...genuine, 'webhook-id': '\udcff' },
  { ...genuine, 'webhook-id': '\ud800' },
  { ...genuine, 'webhook-timestamp': '9'.repeat(5000) },
  { ...genuine, 'webhook-timestamp': '٠١٢' },
  { ...genuine, 'webhook-timestamp': `${NOW}\udcff` },
  { ...genuine, 'webhook-timestamp': '-1' },
];

const arrays = Object.fromEntries(Object.entries(genuine).map(([name, value]) => [name, [value]]));
const { 'webhook-id': id, 'webhook-signature': signature } = genuine;
/** Headers whose values are arrays, as some servers give them. */
const ARRAYS: Record<string, string[]>[] = [
  arrays,
  { ...arrays, 'webhook-id': [id, id] },
  { ...arrays, 'webhook-signature': ['v1,AAAA', signature] },
];
const ODD_ARRAYS: Record<string, string[]>[] = [
  { ...arrays, 'webhook-id': [id, 'evt_2'] },
  { ...arrays, 'webhook-timestamp': [`${NOW}`, `${NOW + 1}`] },
  { ...arrays, 'webhook-signature': [] },
];

async function python(t: ExecutionContext, deliveries: readonly unknown[]): Promise<Record<string, unknown>> {
  const program = run(await findTestPython((line) => t.log(line)), [SCRIPT], {
    env: { ...machineEnv(), PYTHONPATH: SOURCE },
  });
  program.child.stdin?.end(JSON.stringify(deliveries));
  return recordAt(JSON.parse((await program).stdout));
}

test('Python: odd bytes and huge numbers in headers are refused, not raised as other errors', async (t) => {
  const all = [
    { secret, headers: genuine, body, now: NOW },
    ...[JOINED, ...ARRAYS, ...ODD, ...ODD_ARRAYS].map((headers) => ({ secret, headers, body, now: NOW })),
    { secret, headers: genuine, body: `${body}\udcff`, now: NOW },
  ];
  const { outcomes } = await python(t, all);
  const accepted = [genuine, JOINED, ...ARRAYS].map(() => 'credits.low');
  t.deepEqual(outcomes, [...accepted, ...all.slice(accepted.length).map(() => 'WebhookVerificationError')]);
});

test('Python: the representation of a result does not contain its file', async (t) => {
  const { shown } = await python(t, []);
  t.true(Array.isArray(shown));
  for (const text of Array.isArray(shown) ? shown : []) {
    t.true(text.length < 1000, text);
    t.regex(text, /^(?:File)?Result\(output=\{.*'pages': 3.*request_id='req_1'/);
  }
});

test('TypeScript: odd bytes and huge numbers in headers are refused', async (t) => {
  const verify = (headers: Record<string, string>) => verifyWebhook({ secret, headers, body, now: NOW });
  for (const headers of [genuine, JOINED]) t.is((await verify(headers)).event, 'credits.low');
  for (const headers of ODD) await t.throwsAsync(verify(headers), { name: 'WebhookVerificationError' });
});

test('TypeScript: headers may be arrays, as some servers give them, or those of another library', async (t) => {
  const verify = (headers: Parameters<typeof verifyWebhook>[0]['headers']) =>
    verifyWebhook({ secret, headers, body, now: NOW });
  const foreign = new UndiciHeaders(genuine);
  t.false(foreign instanceof Headers);
  for (const headers of [...ARRAYS, { ...arrays, 'Webhook-Id': [id, id] }, foreign])
    t.is((await verify(headers)).event, 'credits.low');
  for (const headers of [...ODD_ARRAYS, new UndiciHeaders()])
    await t.throwsAsync(verify(headers), { name: 'WebhookVerificationError' });
});

test('TypeScript: the records of dns-lookup are one list of records of any type', (t) => {
  const records: DnsLookupOutput['records'] = [
    { address: '192.0.2.1', ttl: 60 },
    { value: 'www.example.com', ttl: 60 },
    { priority: 1, target: '.', params: { alpn: ['h2'] }, ttl: 60 },
  ];
  const addresses = records.flatMap((record) => ('address' in record ? [record.address] : []));
  t.deepEqual(addresses, ['192.0.2.1']);
});
