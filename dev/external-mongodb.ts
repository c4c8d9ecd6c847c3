import { MongoClient } from 'mongodb';
import { StartError } from './start-error.ts';

const ANSWER_MS = 10_000;

/**
 * Adds the database name `database` to a MongoDB URI that names no database. The host part of the URI may list several
 * hosts.
 */
export function withDatabase(uri: string, database: string): string {
  return uri.replace(
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?/,
    (_all, hosts: string, name: string | undefined) => `${hosts}/${name || database}`,
  );
}

/**
 * Checks that the MongoDB server of `MONGODB_URI` is reachable and is a replica set or mongos, which transactions
 * require.
 *
 * @throws StartError that names the variable but not the URI, which may contain a password
 */
export async function checkMongodb(uri: string): Promise<void> {
  let client: MongoClient | undefined;
  try {
    client = new MongoClient(uri, { serverSelectionTimeoutMS: ANSWER_MS });
    const { setName, msg } = await client.db().command({ hello: 1 });
    if (setName === undefined && msg !== 'isdbgrid')
      throw new Error('the server is not a replica set, which transactions require');
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it does not answer';
    throw new StartError(
      `MONGODB_URI: cannot use the server (${reason}). Correct the URI, or unset MONGODB_URI to start a local server.`,
      { cause: error },
    );
  } finally {
    await client?.close();
  }
}
