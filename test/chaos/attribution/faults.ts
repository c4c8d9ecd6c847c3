import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../helpers/random.ts';
import type { Stack } from '../../helpers/stack.ts';
import type { Link } from '../../helpers/toxiproxy.ts';
import { until } from '../../helpers/until.ts';
import type { Clock } from '../clock.ts';
import {
  type Fault,
  linkFaults,
  type ProcessName,
  restart,
  type Servers,
  sendSignal,
  stopFault,
} from '../faults.ts';
import type { SmallDisk } from '../smallDisk.ts';

/** The processes, network links, disk and clock into which faults are injected. */
export interface Targets {
  stack: Stack;
  servers: Servers;
  links: { mongodb: Link; temporal: Link };
  disk: SmallDisk;
  clock: Clock;
}

/** A fault that was injected. Times are in epoch milliseconds. */
export interface Happened {
  name: string;
  from: number;
  to: number;
}

const LONGEST_MS = 5000;
const LONGEST_PAUSE_MS = 3000;
/** Largest clock jump, in seconds, forward or backward. */
const LONGEST_JUMP = 3600;
/**
 * Milliseconds within which a killed process must run again. Starting it is retried, because it fails while another
 * fault lasts.
 */
const RESTARTED_WITHIN_MS = 180_000;

export const killName = (processName: ProcessName): string => `${processName} is killed (SIGKILL)`;

/** Faults that are injected one after the other, while other lanes inject theirs at the same time. */
interface Lane {
  faults: Fault[];
  random: Random;
  /** Share of all faults that this series of faults injects, from 0 to 1. The series run at the same time. */
  share: number;
}

/** Returns the lanes. @param fork returns a new random source */
function makeLanes({ stack, servers, links, disk, clock }: Targets, fork: () => Random): Lane[] {
  const amount = fork();
  const startAgain = (processName: ProcessName) =>
    until(
      `${processName} runs again`,
      () =>
        restart(processName, stack, servers).then(
          () => true,
          () => false,
        ),
      RESTARTED_WITHIN_MS,
    );
  const kill = (processName: ProcessName): Fault => ({
    name: killName(processName),
    begin: () => sendSignal(processName, 'SIGKILL', stack, servers),
    async end() {
      await startAgain(processName);
    },
  });
  const killOrStop = (...names: ProcessName[]) =>
    names.flatMap((name) => [kill(name), stopFault(name, stack, servers)]);
  const fullDisk: Fault = {
    name: 'the disk of MongoDB and Temporal is full',
    begin: disk.fill,
    async end() {
      disk.free();
      // A database process that cannot write to its disk exits or hangs, so both are killed and started again.
      for (const name of ['mongod', 'temporal']) {
        await sendSignal(name, 'SIGKILL', stack, servers);
        await startAgain(name);
      }
    },
  };
  const jump: Fault = {
    name: 'the clocks of API and workers are wrong',
    begin: () => clock.jumpTo(amount.integer(-LONGEST_JUMP, LONGEST_JUMP)),
    end: () => clock.jumpTo(0),
  };
  const latency = () => amount.integer(100, 600);
  const lanes = [
    killOrStop('api', 'api-2'),
    killOrStop('orchestrator', 'delivery'),
    killOrStop('cpu', 'network'),
    [...killOrStop('mongod', 'temporal'), fullDisk],
    [
      ...linkFaults('MongoDB', links.mongodb, latency),
      ...linkFaults('Temporal', links.temporal, latency),
      jump,
    ],
  ];
  const kinds = lanes.flat().length;
  return lanes.map((faults) => ({ faults, random: fork(), share: faults.length / kinds }));
}

/**
 * Injects faults in all lanes at the same time. The seed determines the faults of each lane. When a killed process does
 * not run again, the other lanes end after their current fault.
 *
 * @param stop ends the faults early
 * @throws the error of the first lane that failed
 */
export async function causeFaults(
  count: number,
  targets: Targets,
  fork: () => Random,
  log: (line: string) => void,
  stop: AbortController,
): Promise<Happened[]> {
  const happened: Happened[] = [];
  const run = async ({ faults, random, share }: Lane) => {
    for (let left = Math.ceil(count * share); left > 0 && !stop.signal.aborted; left--) {
      const fault = random.pick(faults);
      const [pauseMs, lastsMs] = [random.integer(0, LONGEST_PAUSE_MS), random.integer(100, LONGEST_MS)];
      await sleep(pauseMs);
      const from = Date.now();
      try {
        await fault.begin();
        await sleep(lastsMs);
      } finally {
        await fault.end();
      }
      const to = Date.now();
      happened.push({ name: fault.name, from, to });
      log(`${new Date(from).toISOString()} ${fault.name} for ${lastsMs} ms; over after ${to - from} ms`);
    }
  };
  const lanes = makeLanes(targets, fork).map((lane) =>
    run(lane).catch((error: unknown) => {
      stop.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(lanes);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return happened;
}
