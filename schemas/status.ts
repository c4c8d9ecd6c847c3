import { POOLS } from './pools.ts';

/** The parts of the service whose state the status page shows: the API, its servers, and the worker pools. */
export const COMPONENTS = ['api', 'mongodb', 'temporal', 'orchestrator', 'delivery', ...POOLS] as const;
export type Component = (typeof COMPONENTS)[number];

export const isComponent = (name: string): name is Component => COMPONENTS.some((it) => it === name);

/** Result of a check. `unknown`: the check could not be made, because it depends on a component that failed. */
export type ComponentState = 'ok' | 'failed' | 'unknown';

/** The results of one run of the checks. Components without an entry are unknown. */
export type ComponentStates = Partial<Record<Component, ComponentState>>;

/** Maximum length of an operator's update of an incident. */
export const UPDATE_LENGTH = 1000;
