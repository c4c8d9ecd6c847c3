import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Stack } from './stack.ts';
import { until } from './until.ts';

type LogLine = Record<string, unknown>;

/** Returns the lines of JSON that a process of the stack has logged so far. */
export async function readLog(stack: Pick<Stack, 'dataDir'>, name: string): Promise<LogLine[]> {
  const text = await readFile(join(stack.dataDir, 'logs', `${name}.log`), 'utf8');
  return stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line): LogLine => JSON.parse(line));
}

/**
 * Returns the base URL of a process's internal server, which the process logs at level `info`. Waits for that log line,
 * because the process can be ready before the line is in the file.
 */
export function internalUrlOf(stack: Pick<Stack, 'dataDir'>, name: string): Promise<string> {
  return until(`${name} has logged its internal URL`, async () => {
    const urls = (await readLog(stack, name)).map(({ internalUrl }) => internalUrl);
    return urls.find((url) => typeof url === 'string') ?? null;
  });
}
