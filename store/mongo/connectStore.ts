import { MongoParseError, MongoServerError } from 'mongodb';
import type { Core } from '../../platform/core.ts';
import { retryStart } from '../../platform/retryStart.ts';
import { type Env, EnvError } from '../../schemas/env.ts';
import { isTransient, openStore, type Store } from './mongo.ts';

/**
 * Error codes of a server that temporarily cannot run commands. The first line has the retryable codes of the driver
 * specifications: the server starts, stops or is not primary. The second line has those of commands that waited too long
 * for a lock or for another process's index build.
 *
 * Source: https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
 */
const BUSY: ReadonlySet<unknown> = new Set([
  ...[6, 7, 89, 91, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436],
  ...[24, 46, 50, 112, 276, 11_601, 12_586, 12_587],
]);

/** Whether a step of the start can succeed later: without wrong credentials, and without contradictory indexes. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof MongoServerError
    ? BUSY.has(error.code)
    : isTransient(error) && !(error instanceof MongoParseError);

/** Returns the connection string. @throws EnvError if it is not set */
export function mongodbUri({ MONGODB_URI }: Pick<Env, 'MONGODB_URI'>): string {
  if (MONGODB_URI === null) throw new EnvError('MONGODB_URI: must be set');
  return MONGODB_URI;
}

/** Repeats a step of the start of a process while MongoDB is unavailable. @throws as `retryStart` */
export const untilStoreAnswers = <T>(
  core: Pick<Core, 'log' | 'stopping'>,
  step: () => Promise<T>,
): Promise<T> => retryStart(core, 'mongodb', isUnavailable, step);

/**
 * Opens the database of a process, and prepares it.
 *
 * @param prepare makes or checks what the process needs in the database; repeated while MongoDB is unavailable
 * @throws EnvError if MONGODB_URI is missing; the errors of `prepare` and of `retryStart`
 */
export async function connectStore(
  core: Pick<Core, 'env' | 'isTraced' | 'log' | 'open' | 'stopping'>,
  prepare: (store: Store) => Promise<void> = async () => undefined,
): Promise<Store> {
  const uri = mongodbUri(core.env);
  const store = core.open.adopt(
    await untilStoreAnswers(core, () => openStore(uri, undefined, core.isTraced)),
    (it) => it.close(),
  );
  await untilStoreAnswers(core, () => prepare(store));
  return store;
}
