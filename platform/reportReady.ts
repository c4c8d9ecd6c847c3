/** Long enough for what the first seconds of a process still load and open. */
const RELEASE_MS = 10_000;

/**
 * Tells the parent process, if there is one, that this process is ready, and soon releases the memory that only its start
 * needed. V8 itself does so only when the heap has grown to a multiple: an idle API kept 100 MB of garbage.
 *
 * @param addresses URLs at which the process listens, for the parent
 */
export function reportReady(addresses: Record<string, string> = {}): void {
  process.send?.({ type: 'ready', ...addresses });
  // `gc` is defined by --expose-gc, which `MEMORY_VARIABLES` contains. Other flavors keep the freed pages.
  const release = () => {
    if (typeof gc === 'function') gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  };
  setTimeout(release, RELEASE_MS).unref();
}
