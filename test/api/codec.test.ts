import { Connection } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import test from 'ava';
import { startUiProxy, type UiProxy } from '../../dev/ui.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { createCodec } from '../../platform/temporal/codec.ts';
import { readEnv } from '../../schemas/env.ts';
import { makeAccount, type TestAccount, withStore } from '../helpers/account.ts';
import { freshCredentials, signIn, signUp } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { makeUser } from '../helpers/users.ts';

const SECRET_TEXT = 'readable for operators alone';

let proxy: UiProxy;
let stack: Stack;
let account: TestAccount;
let operator: string;

test.before(async () => {
  proxy = await startUiProxy();
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env: { TEMPORAL_UI_URL: `${proxy.url}/` } });
  proxy.setApiUrl(stack.baseUrl);
  account = await makeAccount(stack, 100);
  operator = await signIn(stack.baseUrl, await makeUser(stack, 'operator'));
});
test.after.always(async () => {
  await stack?.stop();
  await proxy?.stop();
});

/** A payload as the Temporal UI receives it from the Temporal server and sends it to the codec endpoint. */
interface JsonPayload {
  metadata: Record<string, string>;
  data: string;
}

const base64 = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('base64');

/** Returns the encrypted input of the call with this request id, read from Temporal with a client that has no codec. */
async function storedInput(requestId: string): Promise<JsonPayload[]> {
  const callId = await withStore(stack, async ({ calls }) => {
    const row = await calls.findOne({ requestId });
    return row?._id ?? '';
  });
  const connection = await Connection.connect({ address: stack.temporalAddress });
  try {
    const { history } = await connection.workflowService.getWorkflowExecutionHistory({
      namespace: stack.namespace,
      execution: { workflowId: callId },
    });
    const input = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input;
    return (input?.payloads ?? []).map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]),
      ),
      data: base64(data),
    }));
  } finally {
    await connection.close();
  }
}

const decode = (body: unknown, headers: Record<string, string> = {}, baseUrl = stack.baseUrl) =>
  fetch(`${baseUrl}/codec/decode`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Namespace': stack.namespace, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

async function answered(response: Response): Promise<JsonPayload[]> {
  const body: { payloads: JsonPayload[] } = JSON.parse(await response.text());
  return body.payloads;
}

const plain = (payload: JsonPayload | undefined): string =>
  Buffer.from(payload?.data ?? '', 'base64').toString('utf8');

async function callOnce(): Promise<JsonPayload[]> {
  const response = await account.call('hash-text', { text: SECRET_TEXT });
  if (response.status !== 200) throw new Error(await response.text());
  return storedInput(response.headers.get('X-Request-Id') ?? '');
}

test('an operator can decrypt the payloads of a history', async (t) => {
  const payloads = await callOnce();
  t.is(payloads.length, 1);
  t.is(Buffer.from(payloads[0]?.metadata.encoding ?? '', 'base64').toString(), 'binary/encrypted');
  t.false(plain(payloads[0]).includes(SECRET_TEXT));

  const response = await decode({ payloads }, { Cookie: operator });
  t.is(response.status, 200);
  t.is(response.headers.get('cache-control'), 'no-store');
  const decoded = await answered(response);
  t.is(decoded.length, 1);
  t.is(Buffer.from(decoded[0]?.metadata.encoding ?? '', 'base64').toString(), 'json/plain');
  t.is(JSON.parse(plain(decoded[0])).input.text, SECRET_TEXT);
});

test('a page of the local Temporal UI can decrypt payloads with the session cookie alone', async (t) => {
  const payloads = await callOnce();
  const response = await decode({ payloads }, { Cookie: operator, Origin: proxy.url }, proxy.url);
  t.is(response.status, 200);
  t.true(plain((await answered(response))[0]).includes(SECRET_TEXT));
});

test("payloads are not decrypted without an operator's session", async (t) => {
  const payloads = await callOnce();
  const owner = await signUp(stack.baseUrl, freshCredentials());
  const refused = async (status: number, headers: Record<string, string>) => {
    const response = await decode({ payloads }, headers);
    t.is(response.status, status);
    t.false((await response.text()).includes('"payloads"'));
  };
  await refused(401, {});
  await refused(401, { Cookie: 'utility-tools.session_token=made.up' });
  await refused(401, { Authorization: `Bearer ${account.accountKey}` });
  await refused(403, { Cookie: owner });
});

test("the Temporal UI's proxy learns who is an operator", async (t) => {
  const ask = (headers: Record<string, string>) =>
    fetch(`${stack.baseUrl}/codec/operator`, { headers, redirect: 'manual' });
  const owner = await signUp(stack.baseUrl, freshCredentials());
  t.is((await ask({ Cookie: operator })).status, 204);
  t.is((await ask({ Cookie: owner })).status, 403);
  for (const headers of [{}, { Cookie: 'utility-tools.session_token=made.up' }]) {
    const response = await ask(headers);
    t.is(response.status, 302);
    t.regex(response.headers.get('location') ?? '', /\/dashboard$/);
  }
  t.is((await ask({ Authorization: `Bearer ${account.accountKey}` })).status, 302);
});

test('payloads that are not encrypted are returned unchanged', async (t) => {
  const payloads = [
    { metadata: { encoding: base64(Buffer.from('json/plain')) }, data: base64(Buffer.from('"a"')) },
    { metadata: { encoding: base64(Buffer.from('binary/null')) }, data: '' },
  ];
  const decoded = await answered(await decode({ payloads }, { Cookie: operator }));
  t.deepEqual(
    decoded.map(({ metadata, data }) => ({ metadata, data: data ?? '' })),
    payloads,
  );
});

test('malformed payloads are refused without an internal error', async (t) => {
  const [payload] = await callOnce();
  const bytes = Buffer.from(payload?.data ?? '', 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  const metadata = payload?.metadata ?? {};
  const stranger = { ...metadata, owner: base64(Buffer.from('another workflow')) };
  const bad: [number, unknown][] = [
    [422, { payloads: [payload, { metadata, data: base64(bytes) }] }],
    [422, { payloads: [{ metadata: stranger, data: payload?.data }] }],
    [422, { payloads: [{ metadata, data: '' }] }],
    [422, { payloads: [{ metadata }] }],
    [422, { payloads: [{ metadata, data: '*' }] }],
    [422, { payloads: [{ metadata, data: 5 }] }],
    [422, { payloads: [{ metadata: { encoding: 'A' }, data: 'A' }] }],
    [422, { payloads: [null] }],
    [422, { payloads: {} }],
    [422, {}],
    [400, '{'],
    [400, '[]'],
    [413, { payloads: [{ metadata, data: 'A'.repeat(9_000_000) }] }],
  ];
  for (const [status, body] of bad) {
    const response = await decode(body, { Cookie: operator });
    t.is(response.status, status, JSON.stringify(body).slice(0, 100));
  }
});

test('the codec endpoint allows only the Temporal UI as another origin', async (t) => {
  const ask = async (origin: string, method: string) => {
    const { status, headers } = await fetch(`${stack.baseUrl}/codec/decode`, {
      method,
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type,x-namespace',
      },
    });
    const cors = [...headers].filter(([name]) => name.startsWith('access-control-'));
    return { status, vary: headers.get('vary'), ...Object.fromEntries(cors) };
  };
  const allowed = { 'access-control-allow-origin': proxy.url, 'access-control-allow-credentials': 'true' };
  t.deepEqual(await ask(proxy.url, 'OPTIONS'), {
    ...allowed,
    status: 204,
    vary: 'Origin',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'Content-Type, X-Namespace',
    'access-control-max-age': '600',
  });
  // The refusal also has CORS headers, so that the page can read it.
  t.deepEqual(await ask(proxy.url, 'POST'), { ...allowed, status: 401, vary: 'Origin' });
  for (const origin of ['https://evil.example', 'null', `${proxy.url}0`, 'http://127.0.0.1']) {
    t.deepEqual(await ask(origin, 'OPTIONS'), { status: 204, vary: 'Origin' });
    t.deepEqual(await ask(origin, 'POST'), { status: 401, vary: 'Origin' });
  }
});

test('a payload is decrypted only for the workflow that it was encrypted for', async (t) => {
  const codec = createCodec(loadKeyring(readEnv(stack.env)));
  const of = (workflowId: string) => ({ type: 'workflow', namespace: stack.namespace, workflowId }) as const;
  const payload = defaultPayloadConverter.toPayload(SECRET_TEXT);
  const opened = async (sealedFor: string, workflowId: string) => {
    const [plain] = await codec.decode(await codec.encode([payload], of(sealedFor)), of(workflowId));
    return plain && defaultPayloadConverter.fromPayload(plain);
  };
  t.is(await opened('call-a', 'call-a'), SECRET_TEXT);
  await t.throwsAsync(opened('call-a', 'call-b'), { message: 'payload belongs to another workflow' });
  await t.throwsAsync(opened('call-a', ''), { message: 'payload belongs to another workflow' });
  // Each run of a schedule can decrypt the payloads of the others, because a run passes values to the next one.
  t.is(await opened('sweep', 'sweep-2026-01-01T00:00:00Z'), SECRET_TEXT);
  await t.throwsAsync(opened('sweep', 'allowance-2026-01-01T00:00:00Z'));
});
