/** Mutes `console.warn` while the work runs. PDF libraries warn about malformed files and missing canvas support. */
export async function withoutWarnings<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return await work();
  } finally {
    console.warn = warn;
  }
}
