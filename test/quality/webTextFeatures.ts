import { closeSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { BLOCK_FEATURES } from '../../activities/html/content/blockFeatures.ts';
import { FAMILIES } from '../../activities/html/content/contextFeatures.ts';
import { describe } from '../../activities/html/content/findContent.ts';
import { PAGE_FEATURES } from '../../activities/html/content/pageFeatures.ts';
import { readExample } from './wcxb.ts';

// node test/quality/webTextFeatures.ts FOLDER FILE: writes the features of the development pages of WCXB, which
// activities/html/content/train.py reads: FILE.f32 with a row for each block, FILE.jsonl with a line for each page.
const [folder = '', file = ''] = process.argv.slice(2);
const rowsFile = openSync(`${file}.f32`, 'w');
const pagesFile = openSync(`${file}.jsonl`, 'w');
writeFileSync(`${file}.names.json`, JSON.stringify({ block: BLOCK_FEATURES, page: PAGE_FEATURES }));
for (const name of readdirSync(join(folder, 'dev/ground-truth')).sort()) {
  const { id, url, type, wanted, page } = readExample(join(folder, 'dev'), name.replace('.json', ''));
  const { blocks, features, rows, families } = describe(page);
  writeSync(rowsFile, new Uint8Array(rows.buffer));
  const line = {
    ...{ id, url, type, want: wanted, page: features },
    texts: blocks.map(({ text }) => text),
    fam: FAMILIES.map((family) => [...families[family]]),
  };
  writeSync(pagesFile, `${JSON.stringify(line)}\n`);
}
closeSync(rowsFile);
closeSync(pagesFile);
