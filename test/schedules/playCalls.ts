import './workflowGlobals.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import httpRequest from '../../schemas/tools/http-request.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createRandom, type Random } from '../helpers/random.ts';
import { Scheduler } from '../store/scheduler.ts';
import type { CallRequest } from './api.ts';
import { checkCalls, isSettled } from './checkCalls.ts';
import type { VirtualClock } from './clock.ts';
import { type Processes, startProcesses } from './processes.ts';

const PRICE = httpRequest.price;
/** Time in which each result that did not arrive is returned, and each hold released. */
const MINUTE_MS = 60_000;
/** Longest time from a request to its response. */
const LONGEST_CALL_MS = 101_000;
/** Times after which the faults end, if all calls have ended by then, and the time and the steps after which they end anyway. */
const FAULTS_MS = [0, 20_000, 60_000];
const LONGEST_FAULTS_MS = 200_000;
const FAULT_STEPS = 800;
/** How often it is checked whether everything has been settled. */
const CHECK_EVERY_MS = 5000;

/** The API key of all calls that are not from the dashboard. */
const KEY: ApiKeyDoc = {
  _id: 'key_1',
  accountId: '',
  hash: '',
  prefix: 'ut_test',
  name: 'test',
  scope: 'tools',
  tools: null,
  createdAt: new Date(0),
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  dailyBudget: 50,
};

/** What happened in a schedule. */
export interface Played {
  /** The violated invariants. */
  faults: string[];
  /** The steps, in order. */
  history: readonly string[];
  /** How each request ended, for a count over all schedules. */
  endings: string[];
}

/** A request of a caller, who may end the connection. */
interface Request extends CallRequest {
  hangsUpAfterMs: number | null;
  hangUp(): void;
}

/** What a schedule consists of, apart from the order of its steps. */
interface Plan {
  credits: number;
  /** Credits that are bought during the schedule; 0: none. */
  purchase: number;
  requests: Request[];
  /** Number of steps after which a process dies, by its name. */
  deaths: ReadonlyMap<string, number>;
  /** What else happens. */
  incidents: readonly ('terminate' | 'delete' | 'outage')[];
  toolsFail: boolean;
  faultPermille: number;
  stallPermille: number;
  timerPercent: number;
}

function planRequest(accountId: string, index: number, random: Random): Request {
  const chance = (percent: number) => random.integer(1, 100) <= percent;
  const key = chance(75) ? { ...KEY, accountId } : null;
  return {
    accountId,
    key,
    method: chance(70) ? 'GET' : 'POST',
    // The dashboard sends the id of its form as the key.
    idempotencyKey: chance(40) ? `${key === null ? 'form' : 'key'} ${random.pick(['a', 'b'])}` : null,
    requestId: `req_${accountId}_${index}`,
    isUnsendable: chance(4),
    callId: null,
    status: null,
    isComplete: false,
    isOver: false,
    api: random.pick(['api 1', 'api 2']),
    hangsUpAfterMs: chance(30) ? random.pick([0, 0, 5, 2000, 20_000]) : null,
    hangUp: () => undefined,
  };
}

function planSchedule(accountId: string, random: Random): Plan {
  const chance = (percent: number) => random.integer(1, 100) <= percent;
  const mortal = ['api 1', 'api 2', 'orchestrator 1.1', 'orchestrator 2.1', 'sweeper.1'];
  const incidents = ['terminate', 'delete', 'outage'] as const;
  const isQuiet = chance(10);
  const requests = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, index) =>
    planRequest(accountId, index, random),
  );
  // Often enough, all requests are one that is repeated, so that they race for one call.
  const [first] = requests;
  if (first !== undefined && chance(20)) {
    const { key, method } = first;
    const idempotencyKey = key === null ? 'form a' : 'key a';
    for (const request of requests) Object.assign(request, { key, method, idempotencyKey });
  }
  return {
    credits: random.pick([PRICE - 1, PRICE, 2 * PRICE, 26, 100]),
    purchase: chance(20) ? 10 : 0,
    requests,
    deaths: new Map(mortal.filter(() => !isQuiet && chance(15)).map((name) => [name, random.integer(1, 60)])),
    incidents: incidents.filter(() => !isQuiet && chance(7)),
    toolsFail: !isQuiet && chance(60),
    faultPermille: isQuiet ? 0 : random.pick([0, 5, 30]),
    stallPermille: isQuiet ? 0 : random.pick([0, 3, 12]),
    timerPercent: isQuiet ? 0 : random.pick([0, 2, 10]),
  };
}

/** Whether nothing in the plan prevents that each request gets its result. */
const isUndisturbed = ({ requests, deaths, incidents, credits, ...plan }: Plan): boolean =>
  deaths.size + incidents.length + plan.faultPermille + plan.stallPermille + plan.timerPercent === 0 &&
  !plan.toolsFail &&
  requests.every(
    ({ hangsUpAfterMs, isUnsendable, idempotencyKey }) =>
      hangsUpAfterMs === null && !isUnsendable && idempotencyKey === null,
  ) &&
  credits >= PRICE * requests.length;

interface World {
  plan: Plan;
  store: Store;
  accountId: string;
  scheduler: Scheduler;
  clock: VirtualClock;
  processes: Processes;
  outage: AbortController;
  random: Random;
}

/** Starts what the plan contains as actors of the schedule. */
function startActors({ plan, store, accountId, scheduler, clock, processes, outage, random }: World): void {
  const { temporal, apis } = processes;
  for (const [name, steps] of plan.deaths) scheduler.killAfter(name, steps);
  for (const [index, request] of plan.requests.entries()) {
    const name = `caller ${index}`;
    const step = scheduler.intercept(name);
    clock.run(name, () =>
      scheduler.start(name, async () => {
        const api = await apis.get(request.api);
        const hangUp = api?.send(
          request,
          `/${index}`,
          scheduler.intercept(`${request.api}/connection ${index}`),
        );
        request.hangUp = () => hangUp?.();
        if (request.hangsUpAfterMs === null) return;
        await sleep(request.hangsUpAfterMs);
        await step('hang up', async () => request.hangUp());
      }),
    );
  }
  for (const incident of plan.incidents)
    scheduler.start(incident, async () => {
      for (let wait = random.integer(0, 8); wait > 0; wait--)
        await scheduler.intercept(incident)('wait', async () => undefined);
      const ids = [...temporal.executions.keys()];
      if (incident === 'outage') outage.abort();
      else if (ids.length > 0) temporal[incident](random.pick(ids));
    });
  if (plan.purchase > 0)
    scheduler.start('purchase', () =>
      scheduler.intercept('purchase')('accounts.grant', async () => {
        const grant = { type: 'purchase', amount: plan.purchase, reference: 'p1', reason: null } as const;
        await createAccounts(store).grant({ accountId, ...grant });
      }),
    );
}

/**
 * Plays whole calls of one account: requests over connections that the caller may end, API processes, orchestrators with the
 * real workflow, the ledger, the sweeper, and the failures of all of these, of MongoDB and of Temporal, in an order that
 * derives from the seed. Then the faults end, and the invariants are checked.
 *
 * @param store the database, whose time is that of the clock
 */
export async function playCalls(store: Store, clock: VirtualClock, seed: number): Promise<Played> {
  const random = createRandom(seed);
  const accountId = `acc_${seed}`;
  const plan = planSchedule(accountId, random);
  const { requests, purchase, credits } = plan;
  const email = `${accountId}@example.com`;
  await createAccounts(store).create({ id: accountId, email, credits });
  const timing = { clock, timerPercent: plan.timerPercent, stallPermille: plan.stallPermille };
  const scheduler = new Scheduler(random, random.pick([5, 20, 100]), timing);
  const faults = new Set<string>();
  const outage = new AbortController();
  const processes = startProcesses({
    ...plan,
    store,
    clock,
    scheduler,
    random,
    outage: outage.signal,
    onFault: (fault) => faults.add(fault),
    requestAt(path) {
      const request = requests[Number(path.slice(1))];
      if (request === undefined) throw new RangeError(path);
      return request;
    },
  });
  scheduler.onDeath((name) => {
    for (const request of requests) if (request.api === name) request.isOver = true;
  });
  startActors({ plan, store, accountId, scheduler, clock, processes, outage, random });
  using _end = {
    [Symbol.dispose]() {
      clock.stop();
      outage.abort();
      for (const request of requests) request.hangUp();
    },
  };

  const { temporal } = processes;
  const haveEnded = () =>
    requests.every(({ isOver }) => isOver) &&
    [...temporal.executions.values()].every(({ closed }) => closed !== null);
  const began = clock.now;
  const leastMs = random.pick(FAULTS_MS);
  await scheduler.play(() => {
    const passed = clock.now - began;
    if (scheduler.history.length > FAULT_STEPS || passed > LONGEST_FAULTS_MS) return true;
    return passed >= leastMs && haveEnded();
  });
  scheduler.calm();
  const calmAt = clock.now;
  let endedAt = calmAt;
  for (;;) {
    const next = clock.now + CHECK_EVERY_MS;
    await scheduler.play(() => clock.now >= next);
    if (!haveEnded()) {
      endedAt = clock.now;
      if (clock.now - calmAt <= LONGEST_CALL_MS) continue;
      faults.add('a call does not end');
      break;
    }
    if (await isSettled(store, accountId)) break;
    if (clock.now - endedAt <= MINUTE_MS) continue;
    faults.add('a minute after the end of all calls, something is held, or not returned');
    break;
  }
  const checked = await checkCalls(store, {
    accountId,
    requests,
    processes,
    granted: credits + purchase,
    isUndisturbed: isUndisturbed(plan),
  });
  return {
    faults: [...faults, ...checked.faults],
    endings: checked.endings,
    history: scheduler.history,
  };
}
