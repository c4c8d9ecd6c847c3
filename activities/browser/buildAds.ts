/**
 * A separate program: `buildAds.ts <target> <list> …`. It compiles filter lists to the filter engine of `ads.ts`, and writes it to
 * the target.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { FiltersEngine } from '@ghostery/adblocker';

const [target, ...files] = process.argv.slice(2);
if (target === undefined) throw new Error('buildAds.ts <target> <list> …');

const lists = await Promise.all(files.map((file) => readFile(file, 'utf8')));
const engine = FiltersEngine.parse(lists.join('\n'), {
  loadCosmeticFilters: false,
  enableCompression: false,
});
await writeFile(target, engine.serialize());
