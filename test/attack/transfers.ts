import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { batchesOf } from '../helpers/batches.ts';
import { callMessage } from '../helpers/mcp.ts';
import { postAuth, signIn } from '../helpers/session.ts';
import { HASH } from './floods.ts';
import type { Attack } from './kinds.ts';
import { repeat } from './repeat.ts';
import { ATTACKER_ADDRESSES, accountAt, send } from './scene.ts';

/** Rows of a batch whose results are downloaded, each of 5 MB. */
const ROWS = 10;
const ROW_BYTES = 5_100_000;
/** Pages that are made for each request. */
const PAGES = ['/docs/search?q=screnshot+pdf+link+batch+schedul+webhok', '/postman.json', '/pricing?calls=1'];

const hash = () => HASH;

/** Reads a response to its end. Returns whether the request was not refused. */
const read = async (sent: Promise<Response>): Promise<boolean> => {
  const response = await sent;
  await response.arrayBuffer();
  return response.status < 400;
};

/** Sends a request of which it does not read the response. Resolves when the connection is closed. */
async function leaveUnread(url: string, key: string, message: ReturnType<typeof callMessage>): Promise<void> {
  const headers = { ...message.headers, Authorization: `Bearer ${key}` };
  const sent = request(url, { method: 'POST', headers, agent: false, localAddress: ATTACKER_ADDRESSES[0] });
  sent.end(message.body);
  const [response]: IncomingMessage[] = await once(sent, 'response');
  response?.pause();
  await once(sent, 'close');
}

/** The attacks through what the service sends, and the pages that it makes. */
export const TRANSFER_ATTACKS: Readonly<Record<string, Attack>> = {
  'downloads of the results of a batch': {
    async run(scene, share, count) {
      const batches = batchesOf(accountAt(scene, 0), scene.baseUrl);
      const inputs = Array.from({ length: ROWS }, () => ({ url: `${scene.target}/large` }));
      const { id } = await batches.create({ tool: 'http-request', inputs });
      await batches.reached(id);
      return repeat(Math.ceil(4 * share), count, () => read(batches.request(`/${id}/results`)));
    },
    victim: hash,
    leaves: () => ({ mongodb: ROWS * ROW_BYTES, temporal: ROWS * 10_000 }),
  },
  'MCP results that are not read': {
    run(scene, share, count) {
      const message = callMessage('modern', 'http-request', { url: `${scene.target}/large` });
      return repeat(Math.ceil(64 * share), count, async (index) => {
        count();
        await leaveUnread(`${scene.baseUrl}/mcp`, accountAt(scene, index).toolsKey, message);
        return false;
      });
    },
    victim: hash,
    // Results without an Idempotency-Key, for 15 minutes.
    leaves: (count) => ({ mongodb: count * ROW_BYTES, temporal: count * 10_000 }),
    memory: 1000,
  },
  'calls above the rate limit': {
    run: (scene, share, count) =>
      repeat(Math.ceil(100 * share), count, async (index) => {
        const { toolsKey } = accountAt(scene, index);
        // Without a pause after a refusal.
        for (;;) if (await read(send(scene, toolsKey, 'tools/hash-text', { text: 'a' }))) count();
      }),
    victim: hash,
    leaves: (count) => ({ mongodb: count * 1500, temporal: count * 10_000 }),
  },
  'pages with an ended session': {
    async run(scene, share, count) {
      const Cookie = await signIn(scene.baseUrl, scene.user);
      await read(postAuth(scene.baseUrl, 'sign-out', {}, { Cookie }));
      return repeat(Math.ceil(50 * share), count, () =>
        read(fetch(`${scene.baseUrl}/dashboard/calls`, { headers: { Cookie }, redirect: 'manual' })),
      );
    },
    victim: hash,
  },
  'pages that are made for each request': {
    run: (scene, share, count) =>
      repeat(Math.ceil(20 * share), count, (index) =>
        read(fetch(`${scene.baseUrl}${PAGES[index % PAGES.length]}`)),
      ),
    victim: hash,
  },
};
