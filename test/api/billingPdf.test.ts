import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { billingPdf } from '../../api/billing/billingPdf.ts';
import { readPdf } from '../helpers/office.ts';

test('a document that is longer than a page continues on further pages', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-pdf-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'invoice.pdf');
  const notes = Array.from(
    { length: 80 },
    (_, index) => `Note ${index}. ${'A sentence of some words. '.repeat(6)}`,
  );
  const facts = [{ term: 'Number', value: 'INV-1' }];
  await writeFile(path, await billingPdf({ id: 'INV-1', title: 'Invoice', at: new Date(0), facts, notes }));
  const { pages, text } = await readPdf(path);
  t.true(pages > 1);
  for (const index of notes.keys()) t.true(text.includes(`Note ${index}.`), String(index));
});
