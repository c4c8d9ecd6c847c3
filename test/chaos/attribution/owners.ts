import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyRow } from '../../../schemas/accountRows.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import type { TestAccount } from '../../helpers/account.ts';
import { PRICES } from '../../helpers/prices.ts';
import type { Random } from '../../helpers/random.ts';
import { type Caller, createCaller, type Observation } from './callers.ts';
import { type Plan, planCall, RACE_KINDS, ROLES } from './kinds.ts';
import type { ObservedStack } from './observedStack.ts';

/** An account, and the observations of all its requests. */
export interface Owner {
  account: TestAccount;
  credits: number;
  topUpRuns: Map<string, number>;
  observations: Observation[];
  /** Changes of API keys that the Account API confirmed. */
  keyChanges: string[];
  /** Calls with an Idempotency-Key, and the caller that made each of them. */
  keyed: { caller: Caller; plan: Plan }[];
}

const CREDITS = 40;
const TOP_UP = 40;
const LEAST = 4;
const TOP_UP_EVERY_MS = 1000;
const CHANGE_KEYS_EVERY_MS = 500;
const RETRY_PAUSE_MS = 250;
const KEY_NAME = 'chaos';

/** Creates an account whose requests are observed. */
export async function newOwner({ makeAccount }: ObservedStack, credits: number): Promise<Owner> {
  const account = await makeAccount(credits);
  return { account, credits, topUpRuns: new Map(), observations: [], keyChanges: [], keyed: [] };
}

const callerOf = ({ stack, target }: ObservedStack, owner: Owner, apiKey: string): Caller =>
  createCaller({
    accountId: owner.account.accountId,
    apiKey,
    baseUrls: stack.baseUrls,
    target: target.origin,
    observe: (observation) => owner.observations.push(observation),
  });

/** Adds credits to an account with a unique reference, and retries until it succeeds. */
export async function topUp(
  accounts: Accounts,
  { account, topUpRuns }: Owner,
  amount: number,
): Promise<void> {
  const { accountId } = account;
  const reference = `top-up-${topUpRuns.size}`;
  topUpRuns.set(reference, amount);
  for (;;)
    try {
      await accounts.grant({ accountId, type: 'adjustment', amount, reference, reason: 'test' });
      return;
    } catch {
      // MongoDB has been killed and has not restarted yet.
      await sleep(TOP_UP_EVERY_MS);
    }
}

/**
 * Creates an API key and revokes all keys that this function created before. Stops at the first request that the API
 * process does not answer.
 */
async function changeKeys({ account, keyChanges }: Owner, baseUrl: string): Promise<void> {
  const { manage } = account.at(baseUrl);
  const path = '/api/v1/account/keys';
  const isMine = ({ name, revokedAt }: KeyRow) => name === KEY_NAME && revokedAt === null;
  try {
    const created = await manage(path, { name: KEY_NAME, scopes: ['tools'] });
    const { id }: { id?: string } = await created.json();
    if (created.status === 201) keyChanges.push(`api_key.created ${id}`);
    const { items }: { items?: KeyRow[] } = await (await manage(`${path}?limit=100`)).json();
    for (const key of items?.filter(isMine) ?? []) {
      const revoked = await manage(`${path}/${key.id}`, undefined, { method: 'DELETE' });
      if (revoked.status === 204) keyChanges.push(`api_key.revoked ${key.id}`);
    }
  } catch {
    // The API process has been killed and has not restarted yet.
  }
}

/** An account with one caller of each role, an owner who changes keys, and an operator who adds credits. */
export async function makeBusyOwner(observed: ObservedStack, number: number, fork: () => Random) {
  // Before the first await, so that the seed determines which caller gets which.
  const sources = ROLES.map((role) => ({ role, random: fork() }));
  const owner = await newOwner(observed, CREDITS);
  const callers = await Promise.all(
    sources.map(async ({ role, random }) => {
      const { key } = await owner.account.addKey({ name: role });
      return { role, random, caller: callerOf(observed, owner, key) };
    }),
  );
  return {
    owner,
    async run(accounts: Accounts, isOver: () => boolean): Promise<void> {
      let calling = callers.length;
      const operate = async () => {
        while (calling > 0) {
          const row = await accounts.find(owner.account.accountId).catch(() => null);
          if (row !== null && row.balance - row.reserved < LEAST) await topUp(accounts, owner, TOP_UP);
          await sleep(TOP_UP_EVERY_MS);
        }
      };
      const work = callers.map(async ({ role, random, caller }) => {
        try {
          for (let i = 0; !isOver(); i++) {
            const plan = planCall(random, role, `${number}-${role}-${i}`);
            if (plan.key !== null) owner.keyed.push({ caller, plan });
            await sleep(plan.pauseMs);
            const seen = await caller.make(plan);
            // The API process may be down, so wait before the next call.
            if (seen.includes(null)) await sleep(RETRY_PAUSE_MS);
          }
        } finally {
          calling -= 1;
        }
      });
      const manage = async () => {
        for (let i = 0; !isOver(); i++) {
          await changeKeys(owner, observed.stack.baseUrls[i % observed.stack.baseUrls.length] ?? '');
          await sleep(CHANGE_KEYS_EVERY_MS);
        }
      };
      await Promise.all([...work, operate(), manage()]);
    },
  };
}

/** An account with credits for exactly `enough` of its simultaneous calls, each with a key. */
export async function makeRace(observed: ObservedStack, number: number, random: Random) {
  const kind = random.pick(RACE_KINDS);
  const price = PRICES[kind.tool] ?? 0;
  const enough = random.integer(3, 26);
  const calls = enough + random.integer(1, 5);
  const owner = await newOwner(observed, enough * price + random.integer(0, price - 1));
  const caller = callerOf(observed, owner, owner.account.toolsKey);
  const plans = Array.from({ length: calls }, (_, i): Plan => {
    const id = `race-${number}-${i}`;
    const through = i % 2 === 0 ? 'http' : 'modern';
    return { id, kind, key: id, through, requests: [null], givesUp: false, api: i, pauseMs: 0 };
  });
  let waiting = plans;
  return {
    owner,
    enough,
    /**
     * Makes all calls, and repeats those without a result, because a refund of another call may have freed credits. Can be
     * continued later.
     *
     * @param ms milliseconds after which no call is repeated
     * @returns the number of results so far
     */
    async run(ms: number): Promise<number> {
      for (const end = Date.now() + ms; calls - waiting.length < enough && Date.now() < end; ) {
        const responses = await Promise.all(waiting.map((plan) => caller.make(plan)));
        const succeeded = waiting.filter((_, i) => responses[i]?.some((seen) => seen?.status === 200));
        for (const plan of succeeded) owner.keyed.push({ caller, plan });
        waiting = waiting.filter((plan) => !succeeded.includes(plan));
        await sleep(TOP_UP_EVERY_MS);
      }
      return calls - waiting.length;
    },
  };
}
