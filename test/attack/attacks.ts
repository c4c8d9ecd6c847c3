import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { INLINE_BYTES } from '../../store/calls/results.ts';
import { callMessage } from '../helpers/mcp.ts';
import { postAuth } from '../helpers/session.ts';
import { attackConnections, CONNECTION_ATTACKS, type ConnectionAttack } from './connections.ts';
import { type Call, flood, HASH, type LongFlood, longFloods } from './floods.ts';
import type { Attack } from './kinds.ts';
import { repeat } from './repeat.ts';
import { ATTACKER_ADDRESSES, accountAt, send } from './scene.ts';
import { TRANSFER_ATTACKS } from './transfers.ts';

/** Calls that a flooding account keeps open: the limit of running calls of an account in one pool. */
const OPEN_CALLS = 64;
const REPLAYS = 100;
/** Bytes of the body of a refused call, too large for a payload of a workflow. */
const INPUT = 90_000;

const hash = (): Call => HASH;
const large = (target: string): Call => ({ tool: 'http-request', body: { url: `${target}/large` } });
const upload = (): Call => ({ tool: 'hash-text', body: { text: 'x'.repeat(500_000) } });

const throughConnections = (attack: ConnectionAttack, victim: Attack['victim']): Attack => ({
  run: (scene, share, count) => attackConnections(scene, attack, share, count),
  victim,
});

const throughFlood = (name: LongFlood): Attack => ({
  run(scene, share, count) {
    const { flood: of, flooders, concurrency = OPEN_CALLS } = longFloods(scene.target)[name];
    const call = (index: number) => () => {
      count();
      const sent = send(scene, accountAt(scene, index).toolsKey, `tools/${of.tool}`, of.body);
      return sent.catch(() => Response.error());
    };
    const callers = Array.from({ length: flooders }, (_, index) => call(index));
    return Promise.all(callers.map((each) => flood(each, Math.ceil(concurrency * share))));
  },
  victim: (target) => longFloods(target)[name].other,
  flood: longFloods('')[name],
  // A call that ends in time is charged, and then keeps its row and its history.
  // The history of a call that is charged contains its result, if it is small.
  leaves: (count) => ({ mongodb: count * 1500, temporal: count * (INLINE_BYTES + 10_000) }),
});

/** Reads a response to its end. Returns its status and the `id` in its body, if there is one. */
async function answerOf(sent: Promise<Response>): Promise<{ status: number; id: string }> {
  const response = await sent;
  return { status: response.status, id: /"id":"([^"]+)"/.exec(await response.text())?.[1] ?? '' };
}

/** Sends a request whose response it reads at 1 KB in 3 s. */
async function readSlowly(url: string, key: string, message: ReturnType<typeof callMessage>): Promise<void> {
  const headers = { ...message.headers, Authorization: `Bearer ${key}` };
  const sent = request(url, { method: 'POST', headers, agent: false, localAddress: ATTACKER_ADDRESSES[0] });
  sent.end(message.body);
  const [response]: IncomingMessage[] = await once(sent, 'response');
  while (response !== undefined && !response.destroyed && !response.readableEnded) {
    response.read(1024);
    await sleep(3000);
  }
}

/** The attacks by name. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    Object.entries(CONNECTION_ATTACKS).map(([name, attack]) => [name, throughConnections(attack, hash)]),
  ),
  // Their victims make calls of the kind that the attack harms most.
  'documents that are not read': throughConnections(CONNECTION_ATTACKS['documents that are not read'], large),
  '100 incomplete uploads': throughConnections(CONNECTION_ATTACKS['100 incomplete uploads'], upload),
  'MCP replays that are read slowly': {
    run(scene, share, count) {
      const { tool, body } = large(scene.target);
      const message = callMessage('modern', tool, body, { idempotencyKey: 'large' });
      return repeat(Math.ceil(REPLAYS * share), count, async () => {
        count();
        await readSlowly(`${scene.baseUrl}/mcp`, accountAt(scene, 0).toolsKey, message);
        return false;
      });
    },
    victim: hash,
    // One result, encrypted, for 25 hours.
    leaves: () => ({ mongodb: 5_200_000, temporal: 10_000 }),
    // Each replay decrypts and encodes 5 MB: the copies stay until the garbage collector takes them.
    memory: 1000,
  },
  ...TRANSFER_ATTACKS,
  'nested documents': throughFlood('nested documents'),
  'busy pages': throughFlood('busy pages'),
  'long argon2-verify': throughFlood('long argon2-verify'),
  'silent targets': throughFlood('silent targets'),
  'refused calls': {
    run(scene, _share, count) {
      const body = { url: 'http://127.0.0.1:9/', method: 'POST', body: 'x'.repeat(INPUT) };
      return repeat(8, count, async (index) => {
        const { toolsKey } = accountAt(scene, index);
        return (await answerOf(send(scene, toolsKey, 'tools/http-request', body))).status === 422;
      });
    },
    victim: hash,
    // The row of the call, for 7 days.
    leaves: (count) => ({ mongodb: count * 478 }),
  },
  'keys that are created and revoked': {
    run(scene, _share, count) {
      const { accountKey } = accountAt(scene, 0);
      return repeat(4, count, async () => {
        const key = { name: 'a', scopes: ['tools'] };
        const { id } = await answerOf(send(scene, accountKey, 'account/keys', key));
        return (
          (await answerOf(send(scene, accountKey, `account/keys/${id}`, undefined, 'DELETE'))).status === 204
        );
      });
    },
    victim: hash,
    // A key, two entries of the security log, and two events with the histories of their dispatch.
    leaves: (count) => ({ mongodb: count * 3000, temporal: count * 2 * 10_000 }),
  },
  'sign-ins': {
    run: ({ baseUrl, user }, _share, count) =>
      repeat(4, count, async () => (await answerOf(postAuth(baseUrl, 'sign-in/email', user))).status === 200),
    victim: hash,
    // A session and an entry of the security log for each of the 60 sign-ins in an hour.
    leaves: () => ({ mongodb: 60 * 1500 }),
  },
};
