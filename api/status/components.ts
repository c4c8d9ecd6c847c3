import { isPool, POOL_TABLE, type Pool } from '../../schemas/pools.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Component, ComponentState } from '../../schemas/status.ts';

interface Description {
  name: string;
  text: string;
}

const OTHERS: Record<Exclude<Component, Pool>, Description> = {
  api: { name: 'API', text: 'Answers requests.' },
  mongodb: { name: 'Database', text: 'Stores accounts, credits and the history of calls.' },
  temporal: { name: 'Workflow engine', text: 'Runs every call, and repeats what fails.' },
  orchestrator: { name: 'Call processing', text: 'Reserves and charges credits.' },
  delivery: { name: 'Webhook deliveries', text: 'Posts events to webhook endpoints.' },
};

/** The public name of a component and what it does. */
export function describe(component: Component, registry: Registry): Description {
  if (!isPool(component)) return OTHERS[component];
  const tools = [...registry.values()].filter(({ pool }) => pool === component).map(({ title }) => title);
  return { name: POOL_TABLE[component].title, text: `${tools.join(', ')}.` };
}

export const STATE_WORDS: Record<ComponentState, string> = {
  ok: 'Operational',
  failed: 'Down',
  unknown: 'Unknown',
};
