import { startOwnServers } from '../../helpers/stack.ts';
import { startToxiproxy } from '../../helpers/toxiproxy.ts';
import { createClock } from '../clock.ts';
import { mountDisk } from '../smallDisk.ts';
import type { Targets } from './faults.ts';
import { type ObservedStack, startObservedStack } from './observedStack.ts';

/** Size of the in-memory disk. Only its used part takes memory. */
const DISK = '16g';

interface DisturbedStack extends Targets, ObservedStack {
  stack: ObservedStack['stack'];
  /** The stack's database, by a connection that is not disturbed. */
  mongodbUri: string;
}

/** Starts the whole stack so that faults can be injected into each of its parts. Disposing `open` stops it. */
export async function startDisturbedStack(
  open: AsyncDisposableStack,
  log: (line: string) => void,
): Promise<DisturbedStack> {
  const clock = await createClock(open);
  const disk = await mountDisk(open, DISK);
  const servers = open.adopt(await startOwnServers(disk.path), (it) => it.stop());
  const { links } = open.adopt(
    await startToxiproxy(
      { mongodb: new URL(servers.mongodbUri).host, temporal: servers.temporalAddress },
      log,
    ),
    (it) => it.stop(),
  );
  const observed = await startObservedStack(open, {
    servers: {
      // A direct connection; otherwise the driver would learn the member's own address and bypass the proxy.
      mongodbUri: `mongodb://${links.mongodb.address}/?directConnection=true`,
      temporalAddress: links.temporal.address,
    },
    env: clock.env,
  });
  const direct = new URL(servers.mongodbUri);
  direct.pathname = new URL(observed.stack.mongodbUri).pathname;
  return { ...observed, clock, disk, servers, links, mongodbUri: direct.href };
}
