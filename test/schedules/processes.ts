import { AsyncLocalStorage } from 'node:async_hooks';
import { Client, ServiceError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { MongoError, MongoNetworkError } from 'mongodb';
import { createMaintenanceActivities } from '../../activities/ledger/scheduledActivities.ts';
import { createLedger, type Ledger } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { Random } from '../helpers/random.ts';
import { type Intercept, interceptStore } from '../store/intercept.ts';
import type { Scheduler } from '../store/scheduler.ts';
import { type Api, type CallRequest, startApi } from './api.ts';
import type { VirtualClock } from './clock.ts';
import { connectTo } from './connection.ts';
import { GrpcError, STATUS } from './grpcError.ts';
import { createOrchestrator } from './orchestrator.ts';
import { type Orchestrator, Temporal } from './temporal.ts';

/** Interval at which Temporal starts the sweeps. */
const SWEEP_INTERVAL_MS = 15_000;
/** Age at which a lease has expired. */
const LEASE_MS = 15_000;
/** Age of its lease from which an API process no longer relies on it. */
const HELD_MS = 8000;

const ignore = () => undefined;

/** Whether the operations of a transaction run, which are no steps of their own. */
const transactions = new AsyncLocalStorage<true>();

/** Whether an error is a fault of MongoDB or of Temporal, and not one of the code or of their copies in memory. */
const isExpected = (error: unknown): boolean =>
  error instanceof MongoError ||
  error instanceof GrpcError ||
  error instanceof ServiceError ||
  (error instanceof AggregateError && error.errors.every(isExpected));

interface Dependencies {
  store: Store;
  clock: VirtualClock;
  scheduler: Scheduler;
  random: Random;
  /** How many of 1,000 requests to MongoDB and Temporal fail before, and how many after they have had their effect. */
  faultPermille: number;
  /** Whether tools and their workers fail. */
  toolsFail: boolean;
  requestAt(path: string): CallRequest;
  /** Aborts when the APIs detect an outage of Temporal. */
  outage: AbortSignal;
  /** Called with a description when something happened that must never happen. */
  onFault(fault: string): void;
}

/** The processes of the service: two APIs, two orchestrators and the sweeper, each with what a restart brings. */
export interface Processes {
  temporal: Temporal;
  apis: ReadonlyMap<string, Promise<Api>>;
  /** How often the tool of a call was started. */
  runs: ReadonlyMap<string, number>;
  /** Whether an API process has died, or its lease has expired, so that the sweeper may have settled its calls. */
  hasLapsed(api: string): boolean;
  /**
   * Whether an API process has died after it had lost contact with MongoDB. Without a lease, a process records a result as
   * delivered before it sends it, so that the sweeper cannot settle the call at the same time.
   */
  hasDiedUnheld(api: string): boolean;
}

/** Starts the processes as parts of a schedule. */
export function startProcesses(deps: Dependencies): Processes {
  const { store, clock, scheduler, random, faultPermille, toolsFail, requestAt, outage, onFault } = deps;
  const apis = new Map<string, Promise<Api>>();
  const orchestrators = new Map<string, Orchestrator>();
  const restarts = new Map<string, () => void>();
  /** When the lease of an API process was renewed, and when the process sent that renewal. */
  const renewals = new Map<string, number>();
  const sent = new Map<string, number>();
  const lapsed = new Set<string>();
  const runs = new Map<string, number>();
  const temporal = new Temporal({
    scheduler,
    clock,
    random,
    toolsFail,
    orchestrator: () => random.pick([...orchestrators.values()]),
    onTool: (callId) => runs.set(callId, (runs.get(callId) ?? 0) + 1),
  });

  const dead = new Set<string>();
  const unheld = new Set<string>();
  const isLate = (name: string): boolean => clock.now - (renewals.get(name) ?? clock.now) > LEASE_MS;

  /** Steps of a process that may fail, before or after they have had their effect. */
  function stepsOf(actor: string, error: () => Error): Intercept {
    const step = scheduler.intercept(actor);
    return (name, run) => {
      if (transactions.getStore() === true) return run();
      const sentAt = clock.now;
      return step(name, async () => {
        if (clock.now - (sent.get(actor) ?? clock.now) >= HELD_MS) unheld.add(actor);
        const fate = scheduler.isCalm || faultPermille === 0 ? 500 : random.integer(1, 1000);
        if (fate <= faultPermille) throw error();
        const result = await run().catch((error: unknown) => {
          if (!isExpected(error)) onFault(`${name}: ${error}`);
          throw error;
        });
        if (name === 'apiProcesses.updateOne') {
          if (isLate(actor)) lapsed.add(actor);
          renewals.set(actor, clock.now);
          sent.set(actor, sentAt);
        }
        if (fate > 1000 - faultPermille) throw error();
        return result;
      });
    };
  }

  /** What a process sees of MongoDB and of Temporal. */
  function connectionsOf(name: string) {
    const inStore = stepsOf(name, () => new MongoNetworkError('connection lost', {}));
    return {
      name,
      clock,
      scheduler,
      temporal,
      store: {
        ...interceptStore(store, inStore),
        // A transaction is one step: MongoDB lets it happen as a whole or not at all.
        transaction: <T>(steps: Parameters<typeof store.transaction<T>>[0]) =>
          inStore('transaction', () => transactions.run(true, () => store.transaction(steps))),
      },
      step: stepsOf(name, () => new GrpcError(STATUS.UNAVAILABLE, 'connection lost')),
    };
  }

  function startApiProcess(name: string): void {
    const { promise, resolve } = Promise.withResolvers<Api>();
    apis.set(name, promise);
    clock.run(name, () =>
      scheduler.start(name, async () => {
        const start = () => retryStore(() => startApi({ ...connectionsOf(name), outage, requestAt }));
        // The process is started again until it has a lease.
        resolve(await start().catch(start).catch(start));
      }),
    );
    restarts.set(name, () => {
      restarts.delete(name);
      dead.add(name);
    });
  }

  function startOrchestrator(kind: string, generation: number): void {
    const name = `${kind}.${generation}`;
    const connections = connectionsOf(name);
    const ledger = createLedger(connections.store, ignore);
    orchestrators.set(kind, createOrchestrator({ ...connections, ledger }));
    restarts.set(name, () => {
      restarts.delete(name);
      startOrchestrator(kind, generation + 1);
    });
  }

  let sweep: () => Promise<unknown> = async () => undefined;
  let isSweeping = false;

  function startSweeper(generation: number): void {
    const name = `sweeper.${generation}`;
    const { store: own, step } = connectionsOf(name);
    const client = new Client({ connection: connectTo(temporal, step), namespace: 'schedules' });
    const logger = new DefaultLogger('ERROR', ignore);
    const environment = new MockActivityEnvironment({}, { logger });
    const notifier = { wake: async () => undefined, localhost: false };
    const ledger = createLedger(own, ignore);
    const watched: Ledger = {
      ...ledger,
      settle(settlement) {
        const { callId } = settlement;
        if (!temporal.reportedOver.has(callId))
          onFault('the sweeper refunds a call that Temporal did not report as closed or unknown');
        return ledger.settle(settlement);
      },
    };
    const activities = (of: Ledger) => createMaintenanceActivities(own, of, client, notifier, ignore, false);
    const sweeps = [activities(watched).sweepLedger, activities(ledger).sweepAnswers];
    const run = (activity: () => Promise<unknown>) =>
      environment.run(activity).catch((error: unknown) => {
        // The next sweep repeats one that a fault of MongoDB or of Temporal has ended.
        if (!isExpected(error)) onFault(`a sweep fails: ${error}`);
      });
    sweep = () => clock.run(name, () => Promise.all(sweeps.map(run)));
    restarts.set(name, () => {
      restarts.delete(name);
      isSweeping = false;
      startSweeper(generation + 1);
    });
  }

  /** Starts a sweep, unless one is running. */
  async function startSweep(): Promise<void> {
    if (isSweeping) return;
    isSweeping = true;
    const current = sweep;
    await current();
    if (current === sweep) isSweeping = false;
  }

  scheduler.onDeath((name) => restarts.get(name)?.());
  for (const name of ['api 1', 'api 2']) startApiProcess(name);
  for (const kind of ['orchestrator 1', 'orchestrator 2']) startOrchestrator(kind, 1);
  startSweeper(1);
  clock.set('temporal', SWEEP_INTERVAL_MS, () => void startSweep(), true);
  return {
    temporal,
    apis,
    runs,
    hasLapsed: (name) => dead.has(name) || lapsed.has(name) || isLate(name),
    hasDiedUnheld: (name) => dead.has(name) && unheld.has(name),
  };
}
