import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Import and export statements of values. They begin a line, because the formatter puts them there. */
const STATEMENT = /^(?:import|export)\s(?!type\s)(?:[^;'"]*?\sfrom\s)?'(\.[^']+)'/gm;
const DYNAMIC = /\bimport\(\s*'(\.[^']+)'/g;

const direct = new Map<string, readonly string[]>();

/** Returns the files that a file imports itself. Files do not change while tests run, so each is read once. */
function importsOf(file: string): readonly string[] {
  const known = direct.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const found = [STATEMENT, DYNAMIC].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, from = '']) => join(dirname(file), from)),
  );
  direct.set(file, found);
  return found;
}

/**
 * Returns the files that these files import, directly and through others, and the files themselves. Ignores imports of
 * types and of packages.
 *
 * @param files paths
 */
export function importedFiles(files: Iterable<string>): Set<string> {
  const reached = new Set<string>();
  const waiting = [...files];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    waiting.push(...importsOf(file));
  }
  return reached;
}
