import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { here } from './harness.ts';

/** A connection or query to be tried from a container; see probe.mjs. */
export interface Attempt {
  kind: 'tcp' | 'route' | 'dns';
  host: string;
  port?: number;
  name?: string;
}

const SUCCESS = ['connected', 'routed', 'resolved'];

export const readProbe = (): Promise<string> => readFile(join(here, 'probe.mjs'), 'utf8');

/** Whether an outcome that probe.mjs printed means that the address was reached. */
export const isReached = (outcome = ''): boolean => SUCCESS.includes(outcome);
