import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from '../../platform/readiness.ts';
import { COMPONENTS, type ComponentStates, isComponent } from '../../schemas/status.ts';

/** Pause before a failed check is repeated. Longer than a readiness result is reused. */
const REPEAT_AFTER_MS = 5000;

/** Components whose checks need no answer from Temporal. */
const WITHOUT_TEMPORAL = new Set(['api', 'mongodb', 'temporal']);

/** The component of a readiness check: `cpu` for `pool tools-cpu`. */
const componentOf = (check: string): string => check.replace(/^pool (?:tools-)?/, '');

/** Converts the result of the readiness checks. Only Temporal knows the workers of the pools. */
export function statesOf({ checks }: Readiness): ComponentStates {
  const isTemporalUp = checks.temporal === 'ok';
  const states: ComponentStates = {};
  for (const [check, result] of Object.entries(checks)) {
    const component = componentOf(check);
    if (!isComponent(component)) continue;
    states[component] = isTemporalUp || WITHOUT_TEMPORAL.has(component) ? result : 'unknown';
  }
  return states;
}

/** Merges two results: a component failed if it failed both times. */
const failedTwice = (first: ComponentStates, second: ComponentStates): ComponentStates => {
  const states: ComponentStates = {};
  for (const component of COMPONENTS) {
    const state = first[component] === 'failed' ? second[component] : first[component];
    if (state !== undefined) states[component] = state;
  }
  return states;
};

/**
 * Runs the checks, and repeats them after a pause if one fails, so that a request that got lost does not count as an
 * outage.
 */
export async function checkTwice(
  check: () => Promise<ComponentStates>,
  signal: AbortSignal,
  pauseMs = REPEAT_AFTER_MS,
): Promise<ComponentStates> {
  const first = await check();
  if (!Object.values(first).includes('failed')) return first;
  await sleep(pauseMs, undefined, { signal });
  return failedTwice(first, await check());
}

/** Whether the API answers a request on its public port within 2 s. */
export const isAnswering = (baseUrl: string): Promise<boolean> =>
  fetch(`${baseUrl}/livez`, { signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );
