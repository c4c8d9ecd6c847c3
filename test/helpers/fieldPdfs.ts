import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { makePdf, makeXrefStreamPdf, ONE_PAGE, PAGE, streamOf } from './pdf.ts';

/** A PDF of a kind that reports on the tools of this field tell of, and the part of the output that is right. */
export interface FieldPdf {
  bytes: Buffer;
  wanted: Readonly<Record<string, unknown>>;
}

const run = promisify(execFile);

/** Writes a file, runs qpdf on it, and returns what qpdf writes. */
export async function qpdf(plain: Buffer, ...args: readonly string[]): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'field-'));
  try {
    const [source, made] = [join(folder, 'plain.pdf'), join(folder, 'made.pdf')];
    await writeFile(source, plain);
    await run('qpdf', [source, ...args, made]);
    return await readFile(made);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const fieldCase = (name: string): Buffer =>
  readFileSync(new URL(`../cases/files/${name}.pdf`, import.meta.url));

const NAMESPACES =
  'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" ' +
  'xmlns:pdf="http://ns.adobe.com/pdf/1.3/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/" ' +
  'xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"';
/** Returns an XMP packet of one description with these properties and attributes. */
export const xmp = (properties: string, attributes = ''): Buffer =>
  Buffer.from(
    `<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF ${NAMESPACES}>` +
      `<rdf:Description rdf:about="" ${attributes}>${properties}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>`,
  );
const STREAM = '/Type /Metadata /Subtype /XML';
/** Returns a PDF with these XMP metadata, and with an information dictionary unless `info` is null. */
export const withXmp = (
  packet: Buffer,
  info: string | null = null,
  filter: 'packed' | 'plain' = 'plain',
): Buffer =>
  makePdf({
    objects: {
      1: '<< /Type /Catalog /Pages 2 0 R /Metadata 5 0 R >>',
      2: ONE_PAGE[2] ?? '',
      3: PAGE,
      5:
        filter === 'plain'
          ? streamOf(STREAM, packet)
          : streamOf(`${STREAM} /Filter /FlateDecode`, deflateSync(packet)),
      ...(info === null ? {} : { 9: info }),
    },
  });

export const XMP_TEXTS =
  '<dc:title><rdf:Alt><rdf:li xml:lang="de">Jahr</rdf:li><rdf:li xml:lang="x-default">Year &amp; more</rdf:li></rdf:Alt></dc:title>' +
  '<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li></rdf:Seq></dc:creator>' +
  '<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Zahlen, 日本</rdf:li></rdf:Alt></dc:description>' +
  '<pdf:Producer>Maker</pdf:Producer>';
export const TEXTS = {
  title: 'Year & more',
  author: 'Ann',
  subject: 'Zahlen, 日本',
  producer: 'Maker',
};
const A4 = '<pdfaid:part>4</pdfaid:part><pdfaid:rev>2020</pdfaid:rev>';
const PLAIN = { encrypted: false, unreadable: null };

/** XMP metadata that Photoshop and InDesign write: a list of all pictures that were ever pasted. */
const ancestors = (count: number): string =>
  `<photoshop:DocumentAncestors><rdf:Bag>${'<rdf:li>01</rdf:li>'.repeat(count)}</rdf:Bag></photoshop:DocumentAncestors>`;

function largeXmp(): FieldPdf[] {
  const long = xmp(ancestors(1_500_000));
  const described = xmp(ancestors(1_500_000) + XMP_TEXTS, 'pdfaid:part="1" pdfaid:conformance="A"');
  const claims = { pdfA: { part: 1, conformance: 'A' }, pdfUA: null };
  const info = '<< /Title (Bloated XMP) >>';
  const only = { ...PLAIN, title: 'Bloated XMP', author: null, pageCount: 1 };
  const all = { ...TEXTS, ...PLAIN, title: 'Bloated XMP', pageCount: 1, claims };
  return [
    { bytes: withXmp(long, info), wanted: only },
    { bytes: withXmp(long, info, 'packed'), wanted: only },
    { bytes: withXmp(described, info), wanted: all },
    { bytes: withXmp(described, info, 'packed'), wanted: all },
  ];
}

const described = (info: string): Buffer => makePdf({ objects: { ...ONE_PAGE, 9: info } });
const cut = (whole: Buffer, before: string): Buffer => whole.subarray(0, whole.lastIndexOf(before));

function cutFiles(): FieldPdf[] {
  const info = '<< /Title (Cut) /Creator (Word) >>';
  const wanted = { ...PLAIN, title: 'Cut', pageCount: 1 };
  return [
    {
      bytes: fieldCase('pdf-no-trailer'),
      wanted: { ...wanted, author: null, subject: null, producer: 'P', pageCount: 2 },
    },
    ...['0000000000 65535 f', 'trailer', '/Info'].map((before) => ({
      bytes: cut(described(info), before),
      wanted,
    })),
    { bytes: cut(described('<< /Title (Cut) >>'), 'xref\n0 '), wanted },
    {
      bytes: cut(
        makePdf({
          objects: {
            ...ONE_PAGE,
            10: '<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /Contents <00> >>',
          },
        }),
        'xref\n0 ',
      ),
      wanted: { ...wanted, title: 'Hello' },
    },
    { bytes: cut(described('<< /Title (Cut) /CreationDate (D:2026) >>'), 'xref\n0 '), wanted },
  ];
}

/** A file whose pages and texts are in an object stream, and that ends within or before its stream of cross-references. */
async function cutPacked(): Promise<FieldPdf[]> {
  const info = described('<< /Title (Cut) /Producer (Maker) >>');
  const packed = await qpdf(info, '--object-streams=generate');
  const wanted = { ...PLAIN, title: 'Cut', producer: 'Maker', pageCount: 1 };
  return [
    ...[60, 40].map((bytes) => ({ bytes: packed.subarray(0, -bytes), wanted })),
    { bytes: packed.subarray(0, packed.lastIndexOf('endobj', -60) + 7), wanted },
  ];
}

/** A scan of 47 MB that ends before its table of cross-references. */
function cutScan(): FieldPdf[] {
  const pages = [3, 4, 5, 6];
  const image = streamOf(
    '/Type /XObject /Subtype /Image /Width 1 /Height 1 /Filter /DCTDecode',
    Buffer.alloc(12_300_000, 0x5a),
  );
  const whole = makePdf({
    objects: {
      1: '<< /Type /Catalog /Pages 2 0 R >>',
      2: `<< /Type /Pages /Count 4 /Kids [${pages.map((page) => `${page} 0 R`).join(' ')}] >>`,
      ...Object.fromEntries(pages.map((page) => [page, PAGE])),
      9: '<< /Title (Scan) /Producer (Scanner) >>',
      ...Object.fromEntries([11, 12, 13, 14].map((number) => [number, image])),
    },
  });
  const wanted = { ...PLAIN, title: 'Scan', producer: 'Scanner', pageCount: 4 };
  return [{ bytes: cut(whole, 'xref\n0 '), wanted }];
}

export const TWO_PAGES = makePdf({
  objects: { ...ONE_PAGE, 2: '<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>', 4: PAGE },
});

/** Adds a copy of the root of the page tree, with one page less, to which no table refers. */
function withLaterCopy(locked: Buffer): Buffer {
  const text = locked.toString('latin1');
  const table = text.lastIndexOf('xref\n0 ');
  const [, number = ''] = /(\d+) 0 obj\n<< \/Count 2/.exec(text) ?? [];
  const copy = `${number} 0 obj\n<< /Type /Pages /Count 1 /Kids [ 4 0 R ] >>\nendobj\n`;
  const end = text.slice(table).replace(/startxref\n\d+/, `startxref\n${table + copy.length}`);
  return Buffer.from(text.slice(0, table) + copy + end, 'latin1');
}

async function lockedCopies(): Promise<FieldPdf[]> {
  const wanted = { title: null, pageCount: 2, encrypted: true, unreadable: 'password_required' };
  const own = [['256'], ['128', '--use-aes=y'], ['256', '--cleartext-metadata']].map(async (options) => ({
    bytes: withLaterCopy(await qpdf(TWO_PAGES, '--encrypt', 'user', 'owner', ...options, '--')),
    wanted,
  }));
  return [{ bytes: fieldCase('pdf-locked-unreferenced-copy'), wanted }, ...(await Promise.all(own))];
}

/** String literals in the notations of ISO 32000-2, 7.3.4.2, with the text that they mean. */
const LITERALS: Readonly<Record<string, string>> = {
  '(one\rtwo)': 'one\ntwo',
  '(one\r\ntwo\r)': 'one\ntwo',
  '(one\\\r\ntwo)': 'onetwo',
  '(one\\ntwo\n\rthree)': 'one\ntwo\n\nthree',
  '<FEFF006F000D000A0074>': 'o\nt',
};

function literals(): FieldPdf[] {
  const inStream = (source: string) =>
    makeXrefStreamPdf({
      objects: {
        1: ONE_PAGE[1] ?? '',
        2: ONE_PAGE[2] ?? '',
        3: PAGE,
        10: streamOf('/Type /ObjStm /N 1 /First 4', Buffer.from(`9 0 << /Title ${source} >>`, 'latin1')),
      },
      packed: { 9: 0 },
      dictionary: '/Size 21',
    });
  const own = Object.entries(LITERALS).flatMap(([source, title]) => [
    { bytes: described(`<< /Title ${source} >>`), wanted: { title } },
    { bytes: inStream(source), wanted: { title } },
  ]);
  const wanted = { title: 'AB (nested (x)) \u0007+++3 d', author: 'one\ntwo', subject: ')(\\', pageCount: 1 };
  return [{ bytes: fieldCase('pdf-literal-syntax'), wanted }, ...own];
}

function onlyXmp(): FieldPdf[] {
  const packet = xmp(XMP_TEXTS);
  const wanted = { ...PLAIN, ...TEXTS, pageCount: 1 };
  return [
    { bytes: withXmp(xmp(XMP_TEXTS + A4)), wanted },
    { bytes: withXmp(packet, null, 'packed'), wanted },
    { bytes: withXmp(packet, '<< /ModDate (D:2026) >>'), wanted },
    { bytes: withXmp(packet, '<< /Title (Own) /Author () >>'), wanted: { ...wanted, title: 'Own' } },
    {
      bytes: withXmp(Buffer.from(`\ufeff${packet.toString('utf8')}`, 'utf16le').swap16()),
      wanted,
    },
  ];
}

function claims(): FieldPdf[] {
  const renamed = xmp('<q:part>2</q:part>', 'xmlns:q="http://www.aiim.org/pdfua/ns/id/"')
    .toString('latin1')
    .replaceAll('rdf:', 'r:')
    .replaceAll(':rdf=', ':r=');
  const of = (pdfA: object | null, pdfUA: object | null) => ({ claims: { pdfA, pdfUA } });
  return [
    { bytes: withXmp(xmp(A4)), wanted: of({ part: 4, conformance: null }, null) },
    {
      bytes: withXmp(xmp('', 'pdfaid:part="2" pdfaid:conformance="b" pdfuaid:part="1"')),
      wanted: of({ part: 2, conformance: 'B' }, { part: 1, conformance: null }),
    },
    { bytes: withXmp(Buffer.from(renamed, 'latin1')), wanted: of(null, { part: 2, conformance: null }) },
    { bytes: withXmp(xmp('<pdfaid:part>two</pdfaid:part>')), wanted: of(null, null) },
  ];
}

const hex = (bytes: number): string => `<${'5a'.repeat(bytes)}>`;
const KEYS = `/O ${hex(48)} /U ${hex(48)} /OE ${hex(32)} /UE ${hex(32)} /Perms ${hex(16)} /P -4 /Length 256`;
const filters = (method: string): string =>
  `/CF << /StdCF << /CFM /${method} /AuthEvent /DocOpen /Length 32 >> >> /StmF /StdCF /StrF /StdCF`;

/** Encryption dictionaries, and why their files cannot be read. */
const UNREADABLE: readonly [dictionary: string, unreadable: string][] = [
  [`/Filter /Standard /V 6 /R 7 ${KEYS} ${filters('AESV4')}`, 'unsupported_encryption'],
  [`/Filter /Standard /V 5 /R 6 ${KEYS} ${filters('AESV4')}`, 'unsupported_encryption'],
  [`/Filter /Standard /V 6 /R 7 ${KEYS} ${filters('AESV3')}`, 'unsupported_encryption'],
  [`/Filter /Standard /V 5 /R 6 ${KEYS} ${filters('AESV3')}`, 'password_required'],
  [`/Filter /Adobe.PubSec /SubFilter /adbe.pkcs7.s5 /V 5 ${filters('AESV3')}`, 'certificate_required'],
  ['/Filter /FOPN_foweb /V 1', 'unsupported_encryption'],
];

const unreadable = (): FieldPdf[] =>
  UNREADABLE.map(([dictionary, reason]) => ({
    bytes: makePdf({
      objects: { ...ONE_PAGE, 8: `<< ${dictionary} >>` },
      trailer: '/Encrypt 8 0 R /ID [<5a> <5a>]',
    }),
    wanted: { title: null, pageCount: 1, encrypted: true, unreadable: reason, claims: null },
  }));

async function opened(): Promise<FieldPdf[]> {
  const wanted = { title: 'Hello', pageCount: 2, encrypted: true, unreadable: null };
  const options = [['256'], ['256', '--force-R5'], ['256']];
  const own = options.map(async (more, index) => ({
    bytes: await qpdf(
      TWO_PAGES,
      ...['--allow-weak-crypto', ...(index === 2 ? ['--linearize'] : [])],
      ...['--encrypt', 'user', '', ...more, '--allow-insecure', '--'],
    ),
    wanted,
  }));
  return [
    {
      bytes: fieldCase('pdf-enc-r6-owner-empty-objstm'),
      wanted: {
        ...{ title: 'Тест', author: 'Ann', subject: 'S', producer: 'QP' },
        ...{ pageCount: 3, encrypted: true },
      },
    },
    ...(await Promise.all(own)),
  ];
}

/** The files of each kind: first those of the reports, then others of the same kind. */
export const FIELD_PDFS: Readonly<Record<string, () => FieldPdf[] | Promise<FieldPdf[]>>> = {
  'XMP of 28 MB': largeXmp,
  'cut before the trailer': cutFiles,
  'cut before the trailer, packed': cutPacked,
  'scan of 47 MB without a table': cutScan,
  'locked, with a later copy of the page tree': lockedCopies,
  'line ends in strings': literals,
  'texts only in XMP': onlyXmp,
  'claims of PDF/A and PDF/UA': claims,
  'encryption that cannot be read': unreadable,
  'an empty owner password': opened,
};
