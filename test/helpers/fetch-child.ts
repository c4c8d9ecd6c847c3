import { openScratch } from '../../activities/runtime/scratchFile.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { guardFor } from './egress.ts';

/**
 * Runs as a separate process: downloads `http://127.0.0.1:<port><path>` for each path, into memory or to a file.
 * Prints one line of JSON for each: the resulting code, and the largest growth of the memory in use since the process
 * started. Garbage is collected before each measurement, so that the figure does not depend on when V8 collects it.
 * Requires `--expose-gc`.
 */
const [port = '', milliseconds = '', maxBytes = '', place = '', ...paths] = process.argv.slice(2);
const guard = guardFor(Number(port));
const { signal } = new AbortController();

async function download(path: string): Promise<string> {
  const deadline = Date.now() + Number(milliseconds);
  const target = guard.parseTarget(`http://127.0.0.1:${port}${path}`, { kind: 'url', pointer: '/url' });
  try {
    using response = await guard.fetch(target, { signal, deadline, maxBytes: Number(maxBytes) });
    if (place === 'memory') return `ok ${(await response.bytes()).length}`;
    await using file = await openScratch();
    await file.writeFile(response.body);
    return `ok ${(await file.stat()).size}`;
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

function bytesInUse(): number {
  gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A first download, which is not measured, loads all modules. */
await download('/warm-up');
const start = bytesInUse();
for (const path of paths) {
  let peak = start;
  const look = (): void => {
    peak = Math.max(peak, bytesInUse());
  };
  const sample = setInterval(look, 100);
  const outcome = await download(path);
  clearInterval(sample);
  look();
  process.stdout.write(`${JSON.stringify({ path, outcome, growth: Math.max(0, peak - start) })}\n`);
}
