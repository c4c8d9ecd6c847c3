/** Runs work whose libraries tell the console what they make of hostile bytes, or what they lack for drawing. */
export async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return await work();
  } finally {
    console.warn = warn;
  }
}
