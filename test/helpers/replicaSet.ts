import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { machineEnv } from '../../dev/host.mjs';
import { mongodArgs, REPLICA_SET } from '../../dev/mongod.ts';
import { OwnedProcess } from '../../dev/process.ts';
import { findMongod } from '../../dev/programs/mongod.ts';
import { tethered } from '../../dev/tether.ts';
import { type Machine, startNetwork } from './network.ts';
import { until } from './until.ts';

const MEMBERS = 3;
const PORT = 27017;
const LIMIT_MS = 2_000;
const READY_MS = 60_000;
/** Parameters of each member that docs/operations.md recommends. */
const PARAMETERS = ['oplogNetworkTimeoutBufferSeconds=2', 'oplogFetcherSteadyStateMaxFetcherRestarts=0'];
/** Settings of the replica set that docs/operations.md recommends. */
const SETTINGS = {
  electionTimeoutMillis: 5_000,
  heartbeatTimeoutSecs: 3,
  heartbeatIntervalMillis: 100,
  chainingAllowed: false,
};
/** Member states of replSetGetStatus. */
const PRIMARY = 1;
const SECONDARY = 2;

/** How far a member may lag behind the primary, which callers keep busy. */
const MAX_LAG_MS = 2_000;

/** A member as replSetGetStatus describes it. */
interface MemberStatus {
  name: string;
  state: number;
  health: number;
  /** The last write that the member has applied; `t` is the term of the primary that made it. */
  optime: { t: number };
  optimeDate: Date;
}

/** A member of the replica set on a machine of its own. */
export interface Member {
  /** host:port */
  host: string;
  machine: Machine;
  mongod: OwnedProcess<unknown>;
}

interface ReplicaSet {
  /** Names all members. */
  mongodbUri: string;
  members: readonly Member[];
  /** Waits until all members work and none lags behind. @returns the primary */
  whole(): Promise<Member>;
}

/** Runs a command on one member, whatever its state. */
async function ask(host: string, command: Document): Promise<Document> {
  const client = new MongoClient(`mongodb://${host}/`, {
    directConnection: true,
    serverSelectionTimeoutMS: LIMIT_MS,
    connectTimeoutMS: LIMIT_MS,
    socketTimeoutMS: READY_MS,
  });
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

/**
 * Returns the host of the primary if all members, as one of them sees it, are healthy and have applied recent writes of the
 * primary; else null. A member that has returned reports itself as a secondary before it has rolled back its own writes, and
 * cannot acknowledge others until then; its last write is of an earlier term.
 */
async function primaryOfWhole(host: string): Promise<string | null> {
  const { members }: { members?: MemberStatus[] } = await ask(host, { replSetGetStatus: 1 });
  const primary = members?.find(({ state }) => state === PRIMARY);
  if (members === undefined || primary === undefined) return null;
  const isCurrent = ({ state, health, optime, optimeDate }: MemberStatus) =>
    health === 1 &&
    (state === PRIMARY || state === SECONDARY) &&
    optime.t === primary.optime.t &&
    primary.optimeDate.getTime() - optimeDate.getTime() <= MAX_LAG_MS;
  return members.length === MEMBERS && members.every(isCurrent) ? primary.name : null;
}

/**
 * Starts a MongoDB replica set of three members with the settings that docs/operations.md recommends, each on a machine of
 * its own. It ends with `open`. Needs root.
 */
export async function startReplicaSet(
  open: AsyncDisposableStack,
  log: (line: string) => void,
): Promise<ReplicaSet> {
  const program = await findMongod(log);
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-members-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const machines = await startNetwork(open, MEMBERS);
  const members = machines.map((machine, index): Member => {
    const name = `mongod-${index}`;
    const dbPath = join(folder, name);
    const host = `${machine.address}:${PORT}`;
    const args = mongodArgs(dbPath, machine.address, PORT);
    for (const parameter of PARAMETERS) args.push('--setParameter', parameter);
    const mongod = new OwnedProcess({
      name,
      command: () => ({
        ...machine.on(tethered(program, args)),
        env: machineEnv(),
      }),
      prepare: () => mkdir(dbPath, { recursive: true }),
      ready: (_child, signal) =>
        until(
          `${name} answers`,
          () =>
            signal.aborted
              ? Promise.reject(signal.reason)
              : ask(host, { ping: 1 }).then(
                  () => true,
                  () => false,
                ),
          READY_MS,
        ),
      readyMs: READY_MS,
      graceMs: 1_000,
      logDir: join(folder, 'logs'),
      showOutput: false,
      thirdParty: true,
      log,
      supervise: false,
    });
    return { host, machine, mongod };
  });
  open.defer(async () => {
    await Promise.all(members.map(({ mongod }) => mongod.kill('SIGKILL')));
  });
  await Promise.all(members.map(({ mongod }) => mongod.start()));
  const hosts = members.map(({ host }) => host);
  await ask(hosts[0] ?? '', {
    replSetInitiate: {
      _id: REPLICA_SET,
      members: hosts.map((host, _id) => ({ _id, host })),
      settings: SETTINGS,
    },
  });
  const whole = () =>
    until('the replica set is whole', async () => {
      // Every member must see the same primary: a member that has just returned may still report itself as the primary.
      const seen = await Promise.all(hosts.map((host) => primaryOfWhole(host).catch(() => null)));
      const isAgreed = seen.every((host) => host === seen[0]);
      return isAgreed ? (members.find(({ host }) => host === seen[0]) ?? null) : null;
    });
  await whole();
  return { mongodbUri: `mongodb://${hosts.join()}/?replicaSet=${REPLICA_SET}`, members, whole };
}
