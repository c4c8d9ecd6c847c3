import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../schemas/env.ts';
import { isRecord } from '../../schemas/isRecord.ts';

/** What an operator can act on; the message is one line. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** An environment that says where the database is. */
export type AddressedEnv = Env & { MONGODB_URI: string };

async function readDemoFile(folder: string): Promise<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8'));
    return isRecord(content) ? content : {};
  } catch (error) {
    throw new CommandError(`no stack runs in ${folder}: npm start starts one, MONGODB_URI names another`, {
      cause: error,
    });
  }
}

/** The environment as it is when it names a database, or else with the addresses of DATA_DIR's stack. @throws CommandError */
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
      `${join(env.DATA_DIR, 'demo.json')} does not say where its stack is: start it anew`,
    );
  return {
    ...env,
    MONGODB_URI: mongodbUri,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
  };
}
