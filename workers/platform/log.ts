import type { LogLevel, Logger as SdkLogger } from '@temporalio/common';
import { type Logger, pino } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { Registry } from '../../schemas/registry.ts';
import { secretFields } from '../../schemas/tool.ts';

/** Where a secret could stand in an object that somebody logs: at its top, and up to two levels down. */
const anywhere = (name: string): string[] => [name, `*.${name}`, `*.*.${name}`];

/**
 * One JSON line an event on stdout. Inputs and bodies are not logged to begin with; whatever the schemas mark as a
 * secret is cut out besides, so that a careless line does not leak it.
 */
export function createLog(env: Pick<Env, 'LOG_LEVEL'>, name: string, registry: Registry): Logger {
  const secrets = new Set(['authorization', 'cookie', ...[...registry.values()].flatMap(secretFields)]);
  return pino({
    level: env.LOG_LEVEL,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: [...secrets].flatMap(anywhere), censor: '[secret]' },
  });
}

/** Warnings of the SDK that are none to us: refused calls end as failed workflows, and tool workers run no workflows. */
const EXPECTED = new Set(['Workflow failed', 'No workflows registered, not polling for workflow tasks']);

/** A line that one of our workflows wrote, and not the SDK about it. */
const isOfWorkflow = (meta: object | undefined): boolean =>
  meta !== undefined && 'sdkComponent' in meta && meta.sdkComponent === 'workflow';

/** The Temporal SDK's own lines, in the same form; what it calls info is debug to us (polling, state changes). */
export function sdkLog(log: Logger): SdkLogger {
  const write = (level: 'trace' | 'debug' | 'warn' | 'error') => (message: string, meta?: object) =>
    log[EXPECTED.has(message) ? 'debug' : level]({ ...meta }, message);
  const logger = {
    trace: write('trace'),
    debug: write('trace'),
    info: (message: string, meta?: object) =>
      log[isOfWorkflow(meta) ? 'info' : 'debug']({ ...meta }, message),
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
