import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt } from '../helpers/json.ts';
import { auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { stepsOf } from '../helpers/mail.ts';
import { type ScriptedSmtp, serve, startSmtp } from '../helpers/smtp.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Releases the replies that the servers hold back. */
let release: () => void = () => undefined;
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  release = resolve;
  return promise;
};

/** Starts a server that holds back its reply to this command until `release` is called. */
const waitsAt = (word: 'EHLO' | 'AUTH') => {
  const usual = { EHLO: '250-mail\r\n250 AUTH PLAIN\r\n', AUTH: '235 2.7.0 OK\r\n' };
  let opened: Promise<void> | undefined;
  return startSmtp(async (peer) => {
    opened ??= gate();
    peer.say('220 mail\r\n');
    await serve(peer, { [word]: null });
    await opened;
    peer.say(usual[word]);
    await serve(peer);
  });
};

let stack: Stack;
let store: Store;
test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'network'], env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

const credentials = { username: 'tester@example.com', password: 'correct horse' };

/** Starts a call that waits for the server's reply, and that the test can disconnect. */
async function begin(server: ScriptedSmtp, word: string, body: Record<string, unknown>) {
  const account = await makeAccount(stack, 10);
  const phone = new AbortController();
  const response = fetch(`${stack.baseUrl}/api/v1/tools/smtp-test`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ host: server.address, port: server.port, encryption: 'none', ...body }),
    signal: phone.signal,
  });
  const heard = () => server.heard.filter((line) => line.startsWith(word)).length;
  await until('the server is queried', async () => heard() === 1);
  const end = async () => ({
    drift: await auditWhenIdle(store),
    calls: (await callsOf(store, account.accountId)).map(({ state, charged }) => ({ state, charged })),
  });
  return { response, hangUp: () => phone.abort(), heard, end };
}

test.serial(
  'after a worker dies, a call that has sent credentials is not retried, and a call that has not is retried',
  async (t) => {
    const servers = [await waitsAt('AUTH'), await waitsAt('EHLO')] as const;
    for (const server of servers) t.teardown(() => server.close());
    const login = await begin(servers[0], 'AUTH', credentials);
    const look = await begin(servers[1], 'EHLO', {});
    await stack.kill('network');
    await stack.restart('network');
    await until('the other server is queried again', async () => look.heard() === 2);
    release();
    t.is((await look.response).status, 200);
    t.true((await login.response).status >= 500);
    t.deepEqual(await look.end(), { drift: [], calls: [{ state: 'charged', charged: 3 }] });
    t.deepEqual(await login.end(), { drift: [], calls: [{ state: 'refunded', charged: 0 }] });
    t.is(login.heard(), 1);
    t.is(servers[0].connections, 1);
  },
);

test.serial('a disconnect of the caller cancels only conversations without credentials', async (t) => {
  const servers = [await waitsAt('EHLO'), await waitsAt('AUTH')] as const;
  for (const server of servers) t.teardown(() => server.close());
  const look = await begin(servers[0], 'EHLO', {});
  look.hangUp();
  await t.throwsAsync(() => look.response, { name: 'AbortError' });
  t.deepEqual(await look.end(), { drift: [], calls: [{ state: 'refunded', charged: 0 }] });
  const login = await begin(servers[1], 'AUTH', credentials);
  login.hangUp();
  await t.throwsAsync(() => login.response, { name: 'AbortError' });
  release();
  t.deepEqual(await login.end(), { drift: [], calls: [{ state: 'charged', charged: 3 }] });
});

test.serial('failed and refused calls are not charged', async (t) => {
  const account = await makeAccount(stack, 10);
  const ask = async (body: Record<string, unknown>) => {
    const response = await account.call('smtp-test', body);
    return { status: response.status, body: recordAt({ body: await response.json() }, 'body') };
  };
  const closed = await ask({ host: '127.9.9.9', port: 2525 });
  t.like(closed, { status: 502, body: { code: 'target_failed' } });
  t.like(await ask({ host: '10.0.0.1' }), { status: 422, body: { code: 'target_refused' } });
  t.like(await ask({ host: 'example.com', port: 26 }), { status: 422, body: { code: 'invalid_input' } });
  const server = await startSmtp((peer) => peer.say('554 5.7.1 go away\r\n'));
  t.teardown(() => server.close());
  const refusing = await ask({ host: server.address, port: server.port });
  t.is(refusing.status, 200, 'a server that refuses is a result');
  t.deepEqual(stepsOf(refusing.body), ['connect -', 'banner 554 !', 'quit - !']);
  t.deepEqual(await auditWhenIdle(store), []);
  const charged = (await callsOf(store, account.accountId)).map((row) => row.charged);
  t.deepEqual(charged.sort(), [0, 0, 3]);
});
