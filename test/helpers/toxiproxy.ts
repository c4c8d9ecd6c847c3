import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import { toxiproxy } from '../provision/items/toxiproxy.ts';

const START_MS = 60_000;

/** A fault that toxiproxy injects into connections ("toxic"), from the list at https://github.com/Shopify/toxiproxy. */
type Toxic =
  | { type: 'latency'; attributes: { latency: number; jitter: number } }
  /** Drops all data and keeps the connection open. */
  | { type: 'timeout'; attributes: { timeout: 0 } };

/** A proxied connection to a server, into which a test can inject faults. */
export interface Link {
  /** `host:port` at which toxiproxy accepts connections for the server. */
  address: string;
  poison(toxic: Toxic): Promise<void>;
  /** Closes all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Removes all toxics and accepts connections again. */
  heal(): Promise<void>;
}

/** Starts toxiproxy with one proxy per server. */
export async function startToxiproxy<N extends string>(
  upstreams: Record<N, string>,
  log: (line: string) => void,
): Promise<{ links: Record<N, Link>; stop(): Promise<void> }> {
  const program = await toxiproxy.get(log);
  const port = await freePort();
  const child = spawn(program, ['-host', '127.0.0.1', '-port', String(port)], {
    env: machineEnv(),
    stdio: 'ignore',
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
    if (!response.ok)
      throw new Error(`toxiproxy: ${method} ${path}: ${response.status} ${await response.text()}`);
  };
  const upSoon = async () => {
    for (const end = Date.now() + START_MS; ; await sleep(50))
      try {
        return await ask('GET', '/version');
      } catch (error) {
        if (Date.now() > end) throw error;
      }
  };

  async function link(name: string, upstream: string): Promise<Link> {
    const address = `127.0.0.1:${await freePort()}`;
    await ask('POST', '/proxies', { name, listen: address, upstream, enabled: true });
    return {
      address,
      async poison(toxic) {
        for (const stream of ['upstream', 'downstream'])
          await ask('POST', `/proxies/${name}/toxics`, { name: stream, stream, ...toxic });
      },
      cut: () => ask('POST', `/proxies/${name}`, { enabled: false }),
      heal: () => ask('POST', '/reset'),
    };
  }
  try {
    await upSoon();
    const made: Partial<Record<N, Link>> = {};
    for (const name in upstreams) made[name] = await link(name, upstreams[name]);
    const isWhole = (links: Partial<Record<N, Link>>): links is Record<N, Link> =>
      Object.keys(upstreams).every((name) => name in links);
    if (!isWhole(made)) throw new Error('a link is missing');
    return { links: made, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
