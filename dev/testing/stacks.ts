import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Something that test files share by its name, as JSON. */
interface Shared {
  stop(): Promise<void>;
}

interface SharedStacks {
  /** URL at which test processes ask for a stack: `GET <url>/<profile>`. */
  url: string;
  /** Stops all stacks that were started. */
  stop(): Promise<void>;
}

/**
 * Serves stacks to the test processes of a run. Each is started when it is first asked for, and stopped at the end of the run.
 *
 * @param start starts the stack of a profile; rejects when there is no such profile
 */
export async function serveStacks(start: (profile: string) => Promise<Shared>): Promise<SharedStacks> {
  const started = new Map<string, Promise<Shared>>();
  const server = createServer(async ({ url = '' }, response) => {
    const profile = url.slice(1);
    const stack = started.get(profile) ?? start(profile);
    started.set(profile, stack);
    try {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(await stack));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (!isAddress(address)) throw new Error('the server of the stacks has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      const running = await Promise.allSettled(started.values());
      await Promise.all(running.map((it) => (it.status === 'fulfilled' ? it.value.stop() : undefined)));
    },
  };
}

const isAddress = (address: string | AddressInfo | null): address is AddressInfo =>
  typeof address === 'object' && address !== null;
