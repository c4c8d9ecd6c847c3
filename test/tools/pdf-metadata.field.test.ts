import test from 'ava';
import { ServiceError } from '../../schemas/errors.ts';
import { FIELD_PDFS, qpdf, TEXTS, TWO_PAGES, withXmp, XMP_TEXTS, xmp } from '../helpers/fieldPdfs.ts';
import { startFiles } from '../helpers/images.ts';
import { makePdf, ONE_PAGE } from '../helpers/pdf.ts';
import { loadTool } from '../helpers/tool.ts';

// PDF files that reports on the tools of this field tell of. `npm run quality -- fieldFiles` compares other programs.

const tool = await loadTool('pdf-metadata');
const files = await startFiles();
test.after.always(() => files.close());

/** Returns the output of a call for these bytes, or its error code. */
async function read(bytes: Buffer): Promise<Record<string, unknown>> {
  try {
    return await tool.call({ fileUrl: files.put({ bytes }) }, { egress: files.guard });
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code };
    throw error;
  }
}

for (const [kind, make] of Object.entries(FIELD_PDFS))
  test.serial(`files of a kind are read: ${kind}`, async (t) => {
    for (const [index, { bytes, wanted }] of (await make()).entries())
      t.like(await read(bytes), { ...wanted, code: undefined }, `${index}`);
  });

const NOTHING = {
  ...{ title: null, author: null, subject: null, producer: null },
  ...{ encrypted: false, unreadable: null, claims: { pdfA: null, pdfUA: null } },
};

test.serial('several authors in XMP are one text', async (t) => {
  const authors = ['Ann', ' ', 'Bob &amp; Co'].map((name) => `<rdf:li>${name}</rdf:li>`).join('');
  const packet = xmp(`<dc:creator><rdf:Seq>${authors}</rdf:Seq></dc:creator>`);
  t.like(await read(withXmp(packet)), { author: 'Ann; Bob & Co' });
});

test.serial('XMP says nothing about other things, and damaged XMP does no harm', async (t) => {
  const nested =
    '<photoshop:DocumentAncestors><rdf:Bag><rdf:li rdf:parseType="Resource"><dc:title>Other</dc:title></rdf:li></rdf:Bag></photoshop:DocumentAncestors>';
  t.like(await read(withXmp(xmp(nested))), NOTHING);
  for (const part of ['', '0', 'two', '-1', '1.5', '999'])
    t.like(await read(withXmp(xmp(`<pdfaid:part>${part}</pdfaid:part>`))), NOTHING, part);
  const whole = xmp(XMP_TEXTS);
  t.like(await read(withXmp(whole.subarray(0, whole.indexOf('</dc:creator>')))), {
    title: TEXTS.title,
    pageCount: 1,
  });
  t.like(await read(withXmp(Buffer.from('<<<>>&&&'), '<< /Title (Hello) >>')), { title: 'Hello' });
});

test.serial('what a file does not say about itself is not taken for its title', async (t) => {
  const without = (info: string, [from, to]: readonly [string, string]) =>
    Buffer.from(
      makePdf({ objects: { ...ONE_PAGE, 9: info } })
        .toString('latin1')
        .replace(from, to),
      'latin1',
    );
  const whole = without('<< /Title (Chapter) /Parent 8 0 R >>', ['', '']);
  t.like(await read(whole.subarray(0, whole.lastIndexOf('xref\n0 '))), { title: null, pageCount: 1 });
  // A file that is whole means what its trailer says.
  const replaced = without('<< /Title (Old) /Producer (P) >>', ['/Info 9 0 R', '']);
  t.like(await read(replaced), { title: null, producer: null, pageCount: 1 });
});

test.serial(
  'of an encrypted file that ends before its trailer, no ciphertext is taken for texts',
  async (t) => {
    const locked = await qpdf(TWO_PAGES, '--encrypt', '', 'owner', '256', '--');
    t.deepEqual(await read(locked.subarray(0, locked.lastIndexOf('xref\n0 '))), {
      ...NOTHING,
      ...{ encrypted: true, unreadable: 'damaged', claims: null, pageCount: 2 },
    });
  },
);
