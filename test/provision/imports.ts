import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Import and export statements of values. They begin a line, because the formatter puts them there. */
const STATEMENT = /^(?:import|export)\s(?!type\s)(?:[^;'"]*?\sfrom\s)?'(\.[^']+)'/gm;
const DYNAMIC = /\bimport\(\s*'(\.[^']+)'/g;

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
    const text = readFileSync(file, 'utf8');
    for (const pattern of [STATEMENT, DYNAMIC])
      for (const [, from = ''] of text.matchAll(pattern)) waiting.push(join(dirname(file), from));
  }
  return reached;
}
