import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { POOLS } from '../../schemas/pools.ts';
import type { Registry } from '../../schemas/registry.ts';
import { until } from '../helpers/until.ts';
import { assertHealthy, type Client, UP_MS, useFixture } from './client.ts';
import { signal, step } from './harness.ts';

/** Every service that keeps running; each is killed once. */
const KILLED = [
  ...[...POOLS, 'gateway', 'orchestrator', 'delivery', 'api'],
  ...['temporal', 'postgresql', 'mongodb', 'proxy', 'temporal-ui', 'backup'],
];
/** Tools that run when a service is killed: at least one of each pool. */
const TOOLS = ['hash-text', 'http-request', 'html-to-image', 'image-upscale'];
/** Calls of each tool. */
const CALLS = 2;
/** Milliseconds after which the calls have been accepted and run. */
const STARTED_MS = 700;
/** Milliseconds within which a call is answered after everything is healthy again, and refunds are made. */
const ANSWERED_MS = 240_000;
const RETRY_MS = 2000;

interface Call {
  tool: string;
  input: Record<string, unknown>;
  key: string;
  price: number;
}

/** Sends a call. Returns its status, or null when the connection was lost. */
const attempt = (client: Client, { tool, input, key }: Call): Promise<number | null> =>
  client.call(tool, input, { 'Idempotency-Key': key }).then(
    ({ status }) => status,
    () => null,
  );

/** Kills each container in turn while calls run. @returns credits that were spent */
export async function testKills(client: Client, registry: Registry): Promise<number> {
  let spent = 0;
  for (const service of KILLED)
    await step(`docker kill ${service}: every call ends, and is charged exactly once`, async () => {
      const calls = TOOLS.flatMap((name): Call[] => {
        const tool = registry.get(name);
        const [example] = tool?.examples ?? [];
        if (tool === undefined || example === undefined) throw new Error(`no example of ${name}`);
        const input = useFixture(tool.pool, example.input);
        return Array.from({ length: CALLS }, (_, index) => ({
          ...{ tool: name, input, price: tool.price },
          key: `kill-${service}-${name}-${index}`,
        }));
      });
      const before = Number((await client.account()).json.balance);
      const running = calls.map((call) => attempt(client, call));
      await sleep(STARTED_MS, undefined, { signal });
      const [id = ''] = await client.ids(service);
      await client.docker('kill', id);
      await client.compose(['up', '--detach', '--wait', '--no-recreate'], UP_MS);
      const first = await Promise.all(running);
      for (const [index, status] of first.entries()) {
        // A killed proxy takes its connections with it. Everything else is answered with a result or an error.
        const isAnswered = status === null ? service === 'proxy' : status === 200 || status >= 500;
        assert.ok(isAnswered, `${calls[index]?.tool}: ${status}`);
      }
      // Repeated with the same Idempotency-Key, each call ends with its result, and is charged once.
      for (const call of calls) {
        let last: number | null = null;
        await until(
          `${call.tool} after the kill of ${service}`,
          async () => {
            last = await attempt(client, call);
            if (last === 200) return true;
            await sleep(RETRY_MS, undefined, { signal });
            return false;
          },
          ANSWERED_MS,
        ).catch((error: unknown) => assert.fail(`${error}; last status ${last}`));
      }
      const price = calls.reduce((sum, call) => sum + call.price, 0);
      spent += price;
      let balance = Number.NaN;
      await until(
        'the balance',
        async () => {
          balance = Number((await client.account()).json.balance);
          return balance === before - price;
        },
        ANSWERED_MS,
      ).catch(() => assert.equal(balance, before - price));
      await assertHealthy(client);
    });
  return spent;
}
