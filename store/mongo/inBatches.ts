interface Waiting<T> {
  item: T;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Returns a function that writes items in batches: those that arrive while a batch is being written share the next one (group
 * commit), and with it its commands and its flush of the disk. The promise of an item settles as its batch does.
 *
 * @param most maximum number of items in a batch
 */
export function inBatches<T>(
  write: (items: readonly T[]) => Promise<void>,
  most: number,
): (item: T) => Promise<void> {
  const waiting: Waiting<T>[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most);
      try {
        await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    isWriting = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isWriting) return;
      isWriting = true;
      // Later, so that items which are written at the same time share the first batch.
      queueMicrotask(() => void writeAll());
    });
}
