import { type Logger, pino } from 'pino';
import type { Env } from '../schemas/env.ts';

/** One JSON line an event on stdout. Bodies, headers and inputs are never given to it: what is not logged cannot leak. */
export const createLog = (env: Pick<Env, 'LOG_LEVEL'>, name: string): Logger =>
  pino({ name, level: env.LOG_LEVEL, base: { name }, timestamp: pino.stdTimeFunctions.isoTime });
