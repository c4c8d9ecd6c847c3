import { MongoClient } from 'mongodb';
import { StartError } from './start-error.ts';

const ANSWER_MS = 10_000;

/** The URI with its database; `database` where it names none. The host part may hold several hosts. */
export function withDatabase(uri: string, database: string): string {
  return uri.replace(
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?/,
    (_all, hosts: string, name: string | undefined) => `${hosts}/${name || database}`,
  );
}

/**
 * A MongoDB that somebody else runs: it answers, and it is what the ledger needs.
 *
 * @throws StartError that names the variable, without the URI, which may hold a password
 */
export async function checkMongodb(uri: string): Promise<void> {
  let client: MongoClient | undefined;
  try {
    client = new MongoClient(uri, { serverSelectionTimeoutMS: ANSWER_MS });
    const { setName, msg } = await client.db().command({ hello: 1 });
    if (setName === undefined && msg !== 'isdbgrid') throw new Error('it is not a replica set');
  } catch (error) {
    throw new StartError(`MONGODB_URI: ${error instanceof Error ? error.message : 'no answer'}`, {
      cause: error,
    });
  } finally {
    await client?.close();
  }
}
