import type { mongodbAdapter } from '@better-auth/mongo-adapter';
import { MongoError, MongoErrorLabel } from 'mongodb';
import { createFairSemaphore } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';

type Database = ReturnType<typeof mongodbAdapter>;
type Adapter = ReturnType<Database>;
type Transaction = Parameters<Parameters<Adapter['transaction']>[0]>[0];

/**
 * Maximum number of transactions of better-auth at the same time in an API process. Each sign-up hashes a password while its
 * transaction is open, and MongoDB aborts a transaction after `transactionLifetimeLimitSeconds` (15 s).
 */
const SLOTS = 8;
/** Maximum number of attempts of a transaction; the driver waits some milliseconds between them. */
const ATTEMPTS = 5;
/** Time in milliseconds in which a transaction waits for a slot and begins its last attempt. */
const DEADLINE_MS = 30_000;

/** Whether the transaction was aborted, so that it can be repeated, in the words of the driver's specification. */
const isAborted = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(MongoErrorLabel.TransientTransactionError);

/** Returns the operations of a transaction, which report the error that aborted it. */
function watch(operations: Transaction, onAborted: (error: unknown) => void): Transaction {
  const report = async <R>(result: Promise<R>): Promise<R> => {
    try {
      return await result;
    } catch (error) {
      if (isAborted(error)) onAborted(error);
      throw error;
    }
  };
  return {
    ...operations,
    create: (data) => report(operations.create(data)),
    findOne: (data) => report(operations.findOne(data)),
    findMany: (data) => report(operations.findMany(data)),
    count: (data) => report(operations.count(data)),
    update: (data) => report(operations.update(data)),
    updateMany: (data) => report(operations.updateMany(data)),
    delete: (data) => report(operations.delete(data)),
    deleteMany: (data) => report(operations.deleteMany(data)),
    consumeOne: (data) => report(operations.consumeOne(data)),
    incrementOne: (data) => report(operations.incrementOne(data)),
  };
}

/**
 * Makes the driver repeat the transactions of better-auth that MongoDB aborted, because of a conflict, a failover or their
 * duration. The driver does so if it gets the error, but some endpoints convert every error of the database, for example
 * that of a sign-up to 422.
 *
 * The transactions throw ServiceError pool_busy when no slot became free in time or the last attempt was aborted as well.
 */
export function repeatTransactions(database: Database): Database {
  const slots = createFairSemaphore(SLOTS);
  const busy = (cause: unknown) =>
    new ServiceError('pool_busy', {
      detail: 'The database is busy. Nothing was changed. Try again in a few seconds.',
      cause,
    });

  return (options) => {
    const adapter = database(options);
    return {
      ...adapter,
      async transaction(steps) {
        const deadline = AbortSignal.timeout(DEADLINE_MS);
        using _slot = await slots.acquire('', deadline).catch((error) => {
          throw busy(error);
        });
        let attempts = 0;
        let aborted: unknown = null;
        return await adapter.transaction(async (operations) => {
          if (attempts === ATTEMPTS || deadline.aborted) throw busy(aborted);
          attempts++;
          aborted = null;
          const watched = watch(operations, (error) => {
            aborted ??= error;
          });
          try {
            return await steps(watched);
          } catch (error) {
            throw aborted ?? error;
          }
        });
      },
    };
  };
}
