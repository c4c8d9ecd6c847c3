import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import sharp from 'sharp';
import { sniffFileType } from '../../schemas/formats/fileType.ts';
import { makeDocx } from '../helpers/office.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';

const vector = (path: string): Buffer => readFileSync(new URL(`../vectors/${path}`, import.meta.url));
/** Names that begin with x are of files that are broken on purpose. */
const allOf = (folder: string, extension: string): Buffer[] =>
  readdirSync(new URL(`../vectors/${folder}/`, import.meta.url))
    .filter((name) => name.endsWith(extension) && !name.startsWith('x'))
    .map((name) => vector(`${folder}/${name}`));

test('files of other programs have the type of their content', async (t) => {
  const image = sharp({ create: { width: 9, height: 9, channels: 3, background: '#123' } });
  const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
  const pdf = makePdf({ objects: ONE_PAGE });
  const files: [type: string, files: Buffer[]][] = [
    ['image/png', allOf('pngsuite', '.png')],
    ['image/bmp', allOf('bmpsuite/good', '.bmp')],
    ['image/jpeg', [await image.clone().jpeg().toBuffer()]],
    ['image/webp', [await image.clone().webp().toBuffer()]],
    ['image/gif', [await image.clone().gif().toBuffer()]],
    ['application/pdf', [pdf, Buffer.concat([Buffer.alloc(1000, 'junk '), pdf])]],
    ['application/x-ole-storage', [vector('office/word-97.doc')]],
    ['application/vnd.oasis.opendocument.text', [vector('office/locked.odt')]],
    ['application/rtf', [Buffer.from('{\\rtf1\\ansi Hello}')]],
    [docx, [makeDocx()]],
    ['application/octet-stream', [Buffer.alloc(0), Buffer.from('Hello'), Buffer.alloc(5000)]],
  ];
  for (const [type, all] of files) {
    t.true(all.length > 0, type);
    for (const file of all) t.is(sniffFileType(file), type);
  }
});
