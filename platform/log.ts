import type { LogLevel, Logger as SdkLogger } from '@temporalio/common';
import { type Logger, pino, stdSerializers } from 'pino';
import type { Env } from '../schemas/env.ts';
import type { Registry } from '../schemas/registry.ts';
import { secretFields } from '../schemas/tool.ts';

/** Returns pino's redaction paths for a field at the top level of a logged object and up to two levels below. */
const redactionPaths = (name: string): string[] => [name, `*.${name}`, `*.*.${name}`];

/** Nesting of logged values, which bounds circular ones. */
const DEPTH = 6;

/**
 * Returns a copy of a logged value that consists of plain JSON data, with errors as their type, message and stack. Redaction
 * copies objects with their prototypes and reads their fields, which fails for classes with private state such as
 * DOMException.
 */
function toPlain(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}` : value;
  if (depth === DEPTH) return '[nested]';
  if (value instanceof Error) {
    // The message and the stack include those of the causes.
    const { type, message, stack, aggregateErrors } = stdSerializers.err(value);
    return plainFields({ ...value, type, message, stack, aggregateErrors, cause: undefined }, depth);
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') return toPlain(value.toJSON(), depth + 1);
  return Array.isArray(value) ? value.map((each) => toPlain(each, depth + 1)) : plainFields(value, depth);
}

const plainFields = (value: object, depth = 0): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toPlain(field, depth + 1)]));

/**
 * Creates the logger, which writes JSON lines to stdout. No code logs inputs or bodies. As a second line of defence, fields
 * that the tool schemas mark as secret are redacted. Logging never throws: a line whose fields cannot be read is written
 * without them.
 */
export function createLog(env: Pick<Env, 'LOG_LEVEL'>, name: string, registry: Registry): Logger {
  const secrets = new Set(['authorization', 'cookie', ...[...registry.values()].flatMap(secretFields)]);
  return pino({
    level: env.LOG_LEVEL,
    base: { name },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: [...secrets].flatMap(redactionPaths), censor: '[secret]' },
    formatters: { log: (fields) => plainFields(fields) },
    // Errors are plain at this point. Without an own serializer, pino would take `err` for an error again.
    serializers: { err: (fields) => fields },
    hooks: {
      logMethod(args, method) {
        try {
          method.apply(this, args);
        } catch {
          const [fields, message] = args;
          method.call(this, { unreadable: true }, typeof fields === 'string' ? fields : message);
        }
      },
    },
  });
}

/** SDK warnings that are normal: workflows of refused calls end as failed, and tool workers have no workflows. */
const EXPECTED = new Set(['Workflow failed', 'No workflows registered, not polling for workflow tasks']);

/** Whether a log line comes from workflow code instead of the SDK itself. */
const isFromWorkflow = (meta: object | undefined): boolean =>
  meta !== undefined && 'sdkComponent' in meta && meta.sdkComponent === 'workflow';

/** Adapts the logger for the Temporal SDK. The SDK's own info lines (polling, state changes) are logged as debug. */
export function sdkLog(log: Logger): SdkLogger {
  const write = (level: 'trace' | 'debug' | 'warn' | 'error') => (message: string, meta?: object) =>
    log[EXPECTED.has(message) ? 'debug' : level](meta ?? {}, message);
  const logger = {
    trace: write('trace'),
    debug: write('trace'),
    info: (message: string, meta?: object) =>
      log[isFromWorkflow(meta) ? 'info' : 'debug'](meta ?? {}, message),
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
