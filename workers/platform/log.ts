import type { LogLevel, Logger as SdkLogger } from '@temporalio/common';
import { type Logger, pino } from 'pino';
import type { Env } from '../../schemas/env.ts';
import type { Registry } from '../../schemas/registry.ts';
import { secretFields } from '../../schemas/tool.ts';

/** Redaction paths of a field: at the top level of a logged object and up to two levels below. */
const redactionPaths = (name: string): string[] => [name, `*.${name}`, `*.*.${name}`];

/**
 * Creates the logger, which writes JSON lines to stdout. Inputs and bodies are never logged on purpose. Fields that the
 * schemas mark as secret are redacted as a second line of defence.
 */
export function createLog(env: Pick<Env, 'LOG_LEVEL'>, name: string, registry: Registry): Logger {
  const secrets = new Set(['authorization', 'cookie', ...[...registry.values()].flatMap(secretFields)]);
  return pino({
    level: env.LOG_LEVEL,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: [...secrets].flatMap(redactionPaths), censor: '[secret]' },
  });
}

/** SDK warnings about normal operation: refusals fail their workflows, and tool workers run no workflows. */
const EXPECTED = new Set(['Workflow failed', 'No workflows registered, not polling for workflow tasks']);

/** Whether workflow code wrote the line, not the SDK. */
const isFromWorkflow = (meta: object | undefined): boolean =>
  meta !== undefined && 'sdkComponent' in meta && meta.sdkComponent === 'workflow';

/** Adapts the logger for the Temporal SDK. Its info lines (polling, state changes) are logged as debug. */
export function sdkLog(log: Logger): SdkLogger {
  const write = (level: 'trace' | 'debug' | 'warn' | 'error') => (message: string, meta?: object) =>
    log[EXPECTED.has(message) ? 'debug' : level]({ ...meta }, message);
  const logger = {
    trace: write('trace'),
    debug: write('trace'),
    info: (message: string, meta?: object) =>
      log[isFromWorkflow(meta) ? 'info' : 'debug']({ ...meta }, message),
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
