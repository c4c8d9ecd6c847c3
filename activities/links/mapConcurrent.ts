import pMap from 'p-map';

/**
 * Maps items with limited concurrency; the results keep the order of the items. The first failure aborts the signal of the
 * other items.
 *
 * @param work called for each item, with a signal that aborts when `signal` aborts or the work on another item fails
 * @throws the error of the first item to fail, after all started work has ended
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  concurrency: number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const settled = await pMap(
    items,
    async (item) => {
      // Errors are collected, because p-map would reject at the first one, while other items are still in progress.
      try {
        either.throwIfAborted();
        return [await work(item, either)];
      } catch (error) {
        failed.abort(error);
        return [];
      }
    },
    { concurrency },
  );
  if (failed.signal.aborted) throw failed.signal.reason;
  return settled.flat(1);
}
