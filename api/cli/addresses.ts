import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../schemas/env.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/** A command failed for a reason that the operator can correct. The message is one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** The environment, completed with the address of the database. */
export type AddressedEnv = Env & { MONGODB_URI: string };

async function readDemoFile(folder: string): Promise<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'));
    return isRecord(content) ? content : {};
  } catch (error) {
    throw new CommandError(`no stack runs in ${folder}: start one with npm start, or set MONGODB_URI`, {
      cause: error,
    });
  }
}

/**
 * Completes the environment: if MONGODB_URI is not set, the addresses of MongoDB and Temporal are those of the stack
 * in DATA_DIR. @throws CommandError if there is no such stack
 */
export async function addressed(env: Env): Promise<AddressedEnv> {
  const { MONGODB_URI } = env;
  if (MONGODB_URI !== null) return { ...env, MONGODB_URI };
  const { mongodbUri, temporalAddress, temporalNamespace } = await readDemoFile(env.DATA_DIR);
  if (
    typeof mongodbUri !== 'string' ||
    typeof temporalAddress !== 'string' ||
    typeof temporalNamespace !== 'string'
  )
    throw new CommandError(
      `${join(env.DATA_DIR, 'demo.json')} has no addresses of a stack: restart the stack with npm start`,
    );
  return {
    ...env,
    MONGODB_URI: mongodbUri,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
  };
}
