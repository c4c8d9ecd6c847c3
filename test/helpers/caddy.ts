import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import { tethered } from '../../dev/tether.ts';
import { caddy } from '../provision/items/caddy.ts';
import { until } from './until.ts';

const CADDYFILE = new URL('../../docker/Caddyfile', import.meta.url);

/** Replaces what occurs exactly once. @throws otherwise */
function replaceOnce(text: string, from: RegExp, to: string): string {
  const found = [...text.matchAll(new RegExp(from, 'g'))].length;
  if (found !== 1) throw new Error(`docker/Caddyfile has ${found} times ${from}`);
  return text.replace(from, to);
}

/**
 * Starts the proxy of docker-compose.yml in front of an API, with docker/Caddyfile. Only addresses differ: it finds the API at
 * `upstream` instead of by the name of its service.
 *
 * @param upstream `host:port`
 * @returns the port at which it serves the API over HTTP, for requests with the host `localhost:<port>`
 */
export async function startCaddy(
  upstream: string,
  log: (line: string) => void,
): Promise<{ port: number; stop(): Promise<void> }> {
  await using owned = new AsyncDisposableStack();
  const folder = owned.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-caddy-')), (it) =>
    rm(it, { recursive: true }),
  );
  const [port, uiPort, healthPort] = [await freePort(), await freePort(), await freePort()];
  const file = join(folder, 'Caddyfile');
  let text = await readFile(CADDYFILE, 'utf8');
  text = replaceOnce(text, /dynamic a api 8080 \{[^}]*\}/, `to ${upstream}`);
  text = replaceOnce(text, /127\.0\.0\.1:2020/, `127.0.0.1:${healthPort}`);
  await writeFile(file, text);
  const program = tethered(await caddy.get(log), ['run', '--config', file, '--adapter', 'caddyfile']);
  const child = owned.adopt(
    spawn(program.file, program.args, {
      env: {
        ...machineEnv(),
        PUBLIC_URL: `http://localhost:${port}`,
        TEMPORAL_UI_URL: `http://localhost:${uiPort}`,
        XDG_DATA_HOME: folder,
        XDG_CONFIG_HOME: folder,
      },
      stdio: ['ignore', 'ignore', 'ignore', ...(program.ipc ? (['ipc'] as const) : [])],
    }),
    async (it) => {
      const exited = once(it, 'exit');
      it.kill('SIGKILL');
      await exited;
    },
  );
  await until('the proxy serves', async () => {
    if (child.exitCode !== null) throw new Error(`caddy ended with ${child.exitCode}`);
    return fetch(`http://127.0.0.1:${healthPort}`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  const running = owned.move();
  return { port, stop: () => running.disposeAsync() };
}
