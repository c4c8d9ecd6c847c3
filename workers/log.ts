import type { LogLevel, Logger as SdkLogger } from '@temporalio/common';
import { type Logger, pino } from 'pino';
import type { Env } from '../schemas/env.ts';

/** One JSON line an event on stdout. Bodies, headers and inputs are never given to it: what is not logged cannot leak. */
export const createLog = (env: Pick<Env, 'LOG_LEVEL'>, name: string): Logger =>
  pino({ name, level: env.LOG_LEVEL, base: { name }, timestamp: pino.stdTimeFunctions.isoTime });

/** The Temporal SDK's own lines, in the same form; what it calls info is debug to us (polling, state changes). */
export function sdkLog(log: Logger): SdkLogger {
  const write = (level: 'trace' | 'debug' | 'warn' | 'error') => (message: string, meta?: object) =>
    log[level]({ ...meta }, message);
  const logger = {
    trace: write('trace'),
    debug: write('trace'),
    info: write('debug'),
    warn: write('warn'),
    error: write('error'),
  };
  return {
    ...logger,
    log(level: LogLevel, message: string, meta?: object) {
      const name = level.toLowerCase();
      if (name === 'trace' || name === 'debug' || name === 'info' || name === 'warn' || name === 'error')
        logger[name](message, meta);
    },
  };
}
