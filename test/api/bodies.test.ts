import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { makeAccount, type TestAccount, withStore } from '../helpers/account.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ANSWER_BYTES = 65_536;
const FAULTS = 20;
/** Maximum memory of the API process, in MB. */
const MEMORY = 600;
const UNREAD = 160;
/**
 * Maximum CPU time of the API's event loop for one body, in milliseconds. The costliest took 87 and 102 ms beside some forty
 * other running processes on two cores, which share its caches.
 */
const LOOP_MS = 150;

let stack: Stack;
let account: TestAccount;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu'] });
  account = await makeAccount(stack, 100);
});
test.after.always(async () => {
  // Calls that no worker will start still wait, which the API would finish first.
  await stack?.kill('api', 'SIGKILL');
  await stack?.stop();
});

const LARGE = 5_200_000;
const nested = (depth: number) => `{"html":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const unknownFields = (count: number) =>
  `{${Array.from({ length: count }, (_, index) => `"a${index.toString(36)}":1`).join()}}`;
const headerValues = (value: string, count: number) =>
  `{"url":"https://example.com","headers":{"a":[${Array(count).fill(value).join()}]}}`;

async function refusal(t: ExecutionContext, tool: string, body: string, status = 422): Promise<Json> {
  const response = await account.call(tool, body);
  t.is(response.status, status);
  const text = await response.text();
  t.true(Buffer.byteLength(text) <= ANSWER_BYTES, `${text.length} characters`);
  const problem = recordAt(JSON.parse(text));
  if (status === 422) t.true(recordsAt(problem.errors).length <= FAULTS);
  return problem;
}

const HEAVY: [name: string, tool: string, body: () => string, message: RegExp][] = [
  ['a list 2,600,000 deep', 'html-to-image', () => nested(LARGE / 2 - 10), /nested deeper than 32 levels/],
  ['480,000 unknown fields', 'html-to-image', () => unknownFields(480_000), /more than 2000 values/],
  ['520,000 numbers for a header', 'http-request', () => headerValues('1', 520_000), /more than 2000 values/],
  [
    '340,000 strings for a header',
    'http-request',
    () => headerValues('""', 340_000),
    /more than 2000 values/,
  ],
  [
    'a name of 1 MB above 2,000 faults',
    'http-request',
    () =>
      `{"url":"https://example.com","headers":{"${'~'.repeat(1_000_000)}":[${Array(2000).fill(1).join()}]}}`,
    /longer than 256 bytes/,
  ],
];
for (const [name, tool, body, message] of HEAVY)
  test(`a body that exceeds a limit is refused before it is parsed: ${name}`, async (t) => {
    const { code, errors } = await refusal(t, tool, body());
    t.is(code, 'invalid_input');
    t.regex(String(recordsAt(errors)[0]?.message), message);
  });

test('an error response lists 20 faults and counts the others', async (t) => {
  const { errors, moreErrors } = await refusal(t, 'hash-text', unknownFields(1900));
  t.is(recordsAt(errors).length, FAULTS);
  // One more fault than the unknown fields: the required field is missing.
  t.is(moreErrors, 1901 - FAULTS);
  const few = await refusal(t, 'hash-text', unknownFields(5));
  t.is(recordsAt(few.errors).length, 6);
  t.false('moreErrors' in few);
});

test('long field names are shortened in an error response', async (t) => {
  const names = Array.from({ length: 150 }, (_, index) => `${index}${'\\u0001'.repeat(40)}`);
  const body = `{${names.map((name) => `"${name}":1`).join()}}`;
  const { errors, moreErrors } = await refusal(t, 'hash-text', body);
  t.is(recordsAt(errors).length + Number(moreErrors), 151);
});

const open = async (): Promise<Socket> => {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

const head = (tool: string, extra: string[]): string =>
  [
    `POST /api/v1/tools/${tool} HTTP/1.1`,
    'Host: x',
    'Content-Type: application/json',
    `Authorization: Bearer ${account.toolsKey}`,
    ...extra,
    '\r\n',
  ].join('\r\n');

/** Sends these bytes on a new connection. @returns everything received until the connection ended */
async function raw(bytes: string): Promise<string> {
  const socket = await open();
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await Promise.race([once(socket, 'close'), sleep(60_000, undefined, { ref: false })]);
  socket.destroy();
  return Buffer.concat(chunks).toString();
}

test('a request with two Authorization headers is refused, whatever their values', async (t) => {
  const body = '{"text":"abc"}';
  const send = (value: string) =>
    raw(
      head('hash-text', [`Content-Length: ${body.length}`, 'Connection: close', `Authorization: ${value}`]) +
        body,
    );
  for (const value of [`Bearer ${account.toolsKey}`, 'Basic abc', '']) {
    const answer = await send(value);
    t.regex(answer, /^HTTP\/1\.1 400 /);
    t.regex(answer, /"code":"invalid_header"/);
  }
});

test('a request body in a great many small chunks is refused', async (t) => {
  const piece = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const body = `${piece('{"text":"')}${piece('x').repeat(400_000)}${piece('"}')}0\r\n\r\n`;
  const answer = await raw(
    head('hash-text', ['Transfer-Encoding: chunked', 'Connection: close']) + body,
  ).catch((error: NodeJS.ErrnoException) => String(error.code));
  // The server closes the connection before it has read the whole body, so the kernel may reset it before the test
  // reads the response.
  t.regex(answer, /^(?:HTTP\/1\.1 400 [\s\S]*small pieces|ECONNRESET$|EPIPE$)/);
  // A body of the same size in larger chunks is accepted.
  const fine = `${piece('{"text":"')}${piece('x'.repeat(1000)).repeat(500)}${piece('"}')}0\r\n\r\n`;
  t.regex(
    await raw(head('hash-text', ['Transfer-Encoding: chunked', 'Connection: close']) + fine),
    /^HTTP\/1\.1 200 /,
  );
});

test('a form with too many fields is refused', async (t) => {
  const response = await fetch(`${stack.baseUrl}/dashboard/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'a&'.repeat(2000),
  });
  t.is(response.status, 422);
  t.true((await response.text()).length <= ANSWER_BYTES);
});

/** CPU time in milliseconds of the API's main thread, which runs its event loop (proc_pid_schedstat(5)). */
function loopMs(): number {
  const pid = stack.pid('api');
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
}

/** The least CPU time of the event loop that a body costs; the machine may be busy with other things during one of them. */
async function leastMs(handle: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const before = loopMs();
    await handle();
    times.push(loopMs() - before);
  }
  return Math.min(...times);
}

const html = (unit: string, bytes = 1) => `{"html":"${unit.repeat(Math.floor(LARGE / bytes))}"}`;
const manyNames = Array.from({ length: 8000 }, (_, index) => `${index}`.padStart(4, '~'));

/** The costliest bodies that are refused, and those that are accepted. */
const REFUSED: [name: string, tool: string, body: () => string][] = [
  ...HEAVY.map(([name, tool, body]) => [name, tool, body] satisfies [string, string, () => string]),
  [
    '1,990 faults below a long name',
    'http-request',
    () => headerValues('1', 1990).replace('"a"', `"${'~'.repeat(250)}"`),
  ],
  ['1,900 unknown fields', 'http-request', () => unknownFields(1900)],
  [
    'thousands of invalid headers as text',
    'http-request',
    () =>
      JSON.stringify({
        url: 'https://example.com',
        headers: `{${manyNames.map((name) => `"(${name}":""`).join()}}`
          .slice(0, 65_000)
          .replace(/,[^,]*$/, '}'),
      }),
  ],
  ['a header of 1 MB', 'http-request', () => headerValues(`"${'\\u0001'.repeat(170_000)}"`, 1)],
  ['a text of 5 MB that is no URL', 'html-to-image', () => html('x').replace('html', 'selector')],
];
const ACCEPTED: [name: string, body: () => string, key: boolean][] = [
  ['letters', () => html('x'), false],
  ['letters, with an Idempotency-Key', () => html('x'), true],
  ['escaped quotation marks', () => html('\\"', 2), false],
  ['escaped control characters', () => html('\\u0001', 6), false],
  ['escaped control characters, with an Idempotency-Key', () => html('\\u0001', 6), true],
  ['characters of three bytes', () => html('語', 3), false],
  ['characters of four bytes', () => html('\u{1f600}', 4), true],
];

test.serial(`no body takes more than ${LOOP_MS} ms of the event loop`, async (t) => {
  t.timeout(180_000);
  const rich = await makeAccount(stack, 10_000);
  const hangup = new AbortController();
  const tooLong: string[] = [];
  const check = (name: string, ms: number) => {
    t.log(`${name}: ${ms.toFixed(0)} ms`);
    if (ms >= LOOP_MS) tooLong.push(`${name}: ${ms.toFixed(0)} ms`);
  };
  await withStore(stack, async ({ results }) => {
    const stored = () => results.countDocuments({ _id: /:input:/ });
    const send = async (body: string, more: Record<string, string>) => {
      const before = await stored();
      // No worker renders it: the call waits until the end of the test.
      void fetch(`${stack.baseUrl}/api/v1/tools/html-to-image`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${rich.toolsKey}`, 'Content-Type': 'application/json', ...more },
        body,
        signal: hangup.signal,
      }).catch(() => undefined);
      await until('the input is stored', async () => (await stored()) > before);
    };
    const least = (body: string, hasKey = false) =>
      leastMs(() => send(body, hasKey ? { 'Idempotency-Key': randomUUID() } : {}));
    // CPU time of a call with a small body, and of the API's background work during it.
    const call = await least(JSON.stringify({ html: 'x'.repeat(70_000) }));
    t.log(`a call: ${call.toFixed(0)} ms`);
    for (const [name, body, hasKey] of ACCEPTED) check(name, (await least(body(), hasKey)) - call);
  }).finally(() => hangup.abort());
  for (const [name, tool, body] of REFUSED) {
    const text = body();
    const ms = await leastMs(async () => {
      await refusal(t, tool, text);
    });
    check(name, ms);
  }
  t.deepEqual(tooLong, []);
});

const memory = (): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${stack.pid('api')}/status`, 'utf8'))?.[1]) / 1024;

test.serial(`${UNREAD} unread error responses use little memory and do not delay requests`, async (t) => {
  t.timeout(180_000);
  const body = unknownFields(90_000);
  const request = head('http-request', [`Content-Length: ${body.length}`]) + body;
  const sockets = await Promise.all(Array.from({ length: UNREAD }, open));
  try {
    let most = 0;
    for (const socket of sockets) {
      socket.pause();
      socket.write(request);
      most = Math.max(most, memory());
    }
    for (let index = 0; index < 10; index++) {
      t.is((await account.call('hash-text', { text: `beside them ${index}` })).status, 200);
      most = Math.max(most, memory());
    }
    t.true(most < MEMORY, `${most} MB`);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
