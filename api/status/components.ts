import type { Registry } from '../../schemas/registry.ts';
import type { Component, ComponentState } from '../../schemas/status.ts';
import { isPool, type Pool } from '../../schemas/tool.ts';

interface Description {
  name: string;
  text: string;
}

const OTHERS: Record<Exclude<Component, Pool>, Description> = {
  api: { name: 'API', text: 'Answers requests.' },
  mongodb: { name: 'Database', text: 'MongoDB: accounts, credits and history of calls.' },
  temporal: { name: 'Workflow engine', text: 'Temporal: runs every call as a durable workflow.' },
  orchestrator: { name: 'Call processing', text: 'Reserves and charges credits.' },
  delivery: { name: 'Webhook deliveries', text: 'Posts events to webhook endpoints.' },
};

/** The public name of a component and what it does. */
export function describe(component: Component, registry: Registry): Description {
  if (!isPool(component)) return OTHERS[component];
  const tools = [...registry.values()].filter(({ pool }) => pool === component).map(({ name }) => name);
  return { name: `Tools: ${component}`, text: `${tools.join(', ')}.` };
}

export const STATE_WORDS: Record<ComponentState, string> = {
  ok: 'works',
  failed: 'does not work',
  unknown: 'unknown',
};
