import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import test from 'ava';
import { createInternalServer } from '../../platform/internalServer.ts';
import { createReadiness } from '../../platform/readiness.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { createVault } from '../../platform/secrets/vault.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { createVaultClient } from '../../workers/vaultClient.ts';

const SECRETS = { password: 'hunter2' };
const keyring = createKeyring([{ id: 'a', bytes: randomBytes(32) }]);
const fetchSecrets = createVaultClient(keyring);

async function listen(server: Server): Promise<{ url: string } & AsyncDisposable> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const never = new AbortController().signal;
const isInternal = (error: unknown) => error instanceof ServiceError && error.code === 'internal';

test('a worker can fetch the secrets of a call only while the call runs', async (t) => {
  const vault = createVault(keyring);
  await using server = await listen(
    createInternalServer({ readiness: createReadiness({}), metrics: async () => '', vault }),
  );
  const token = vault.put('call-1', SECRETS);
  const reference = { url: server.url, token };
  t.deepEqual(await fetchSecrets(reference, 'call-1', never), SECRETS);
  vault.drop('call-1');
  t.true(isInternal(await t.throwsAsync(fetchSecrets(reference, 'call-1', never))));
});

test('a broken connection to the vault is retried; if the API process is gone, the request fails at once', async (t) => {
  const vault = createVault(keyring);
  const reply = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => response.end(vault.answer(Buffer.concat(chunks)) ?? ''));
  };
  let breaks = 1;
  const flaky = createServer((request, response) => {
    if (breaks-- > 0) request.socket.destroy();
    else reply(request, response);
  });
  const reference = await (async () => {
    await using server = await listen(flaky);
    const known = { url: server.url, token: vault.put('call-1', SECRETS) };
    t.deepEqual(await fetchSecrets(known, 'call-1', never), SECRETS);
    return known;
  })();
  t.true(isInternal(await t.throwsAsync(fetchSecrets(reference, 'call-1', never))));
});

test('a call that is cancelled or reaches its deadline while it waits for the vault reports that as its error', async (t) => {
  await using server = await listen(createServer(() => undefined));
  const signal = AbortSignal.timeout(200);
  const error = await t.throwsAsync(fetchSecrets({ url: server.url, token: 'x' }, 'call-1', signal), {
    any: true,
  });
  t.false(isInternal(error));
});
