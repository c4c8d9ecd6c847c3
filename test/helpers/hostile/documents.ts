import { readdirSync, readFileSync } from 'node:fs';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { makeDocx, makeOdt, type ZipPart, zipOf } from '../office.ts';
import { CATALOG, makePdf, makeXrefStreamPdf, ONE_PAGE, PAGE, streamOf } from '../pdf.ts';
import type { HostileFile } from './file.ts';

type Bomb = [name: string, bytes: Buffer];

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const nested = (open: string, inner: string, close: string, depth: number): string =>
  open.repeat(depth) + inner + close.repeat(depth);

/** Returns a PDF stream of `size` zero bytes, compressed `layers` times. */
function packed(size: number, layers: number, dictionary = ''): Buffer {
  let data: Buffer = Buffer.alloc(size);
  for (let layer = 0; layer < layers; layer++) data = deflateSync(data, { level: 9 });
  return streamOf(`${dictionary} /Filter [${'/FlateDecode '.repeat(layers)}]`, data);
}

function pdfBombs(): Bomb[] {
  const objectStream = (count: number) => packed(300_000_000, 1, `/Type /ObjStm /N ${count} /First 10`);
  const forms = Object.fromEntries(
    times(2000, (at): [number, string] => [
      100 + at,
      `<< /Type /XObject /Subtype /Form /Resources << /XObject << /A ${101 + at} 0 R /B ${101 + at} 0 R >> >> >>`,
    ]),
  );
  const tree = Object.fromEntries(
    times(60, (at): [number, string] => [
      100 + at,
      `<< /Type /Pages /Kids [${101 + at} 0 R ${101 + at} 0 R] /Count 2 >>`,
    ]),
  );
  return [
    [
      'a stream that decompresses to 300 MB',
      makePdf({
        objects: {
          ...ONE_PAGE,
          1: '<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>',
          4: packed(300_000_000, 1),
        },
      }),
    ],
    [
      'an object stream that decompresses to 300 MB',
      makeXrefStreamPdf({
        objects: { ...ONE_PAGE, 10: objectStream(1000) },
        packed: { 2: 0, 3: 1 },
        dictionary: '/Size 21',
      }),
    ],
    [
      'a stream compressed four times',
      makePdf({
        objects: {
          ...ONE_PAGE,
          1: '<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>',
          4: packed(100_000_000, 4),
        },
      }),
    ],
    [
      'a cross-reference stream that decompresses to 500 MB',
      makeXrefStreamPdf({
        objects: ONE_PAGE,
        dictionary: '/Size 71000000 /Filter /FlateDecode',
        encode: (entries) => deflateSync(Buffer.concat([entries, Buffer.alloc(500_000_000)])),
      }),
    ],
    ['a size of two billion', makeXrefStreamPdf({ objects: ONE_PAGE, dictionary: '/Size 2147483647' })],
    [
      'nested forms',
      makePdf({
        objects: {
          ...ONE_PAGE,
          ...forms,
          3: `${PAGE.slice(0, -2)} /Resources << /XObject << /A 100 0 R >> >> >>`,
        },
      }),
    ],
    [
      'a page tree of two to the power of sixty',
      makePdf({
        objects: { ...ONE_PAGE, 2: '<< /Type /Pages /Kids [100 0 R] /Count 1 >>', ...tree, 160: PAGE },
      }),
    ],
    [
      'a page tree that is its own child',
      makePdf({ objects: { ...ONE_PAGE, 2: '<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>' } }),
    ],
    [
      'arrays 1,000,000 deep',
      makePdf({ objects: { ...ONE_PAGE, 9: `<< /Title ${nested('[', '0', ']', 1_000_000)} >>` } }),
    ],
    [
      'dictionaries 500,000 deep',
      makePdf({ objects: { ...ONE_PAGE, 9: nested('<< /A ', '0', ' >>', 500_000) } }),
    ],
    [
      'a title of 20 MB',
      makePdf({ objects: { ...ONE_PAGE, 9: `<< /Title (${'a'.repeat(20_000_000)}) >>` } }),
    ],
    [
      '50,000 objects',
      makePdf({
        objects: { ...ONE_PAGE, ...Object.fromEntries(times(50_000, (at) => [at + 100, 'null'])) },
      }),
    ],
    [
      '4,000,000 pages',
      makePdf({
        objects: {
          1: CATALOG,
          2: `<< /Type /Pages /Kids [${'3 0 R '.repeat(4_000_000)}] /Count 4000000 >>`,
          3: PAGE,
          9: '<< >>',
        },
      }),
    ],
    [
      'an XMP packet of 20 MB',
      makePdf({
        objects: {
          ...ONE_PAGE,
          1: '<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>',
          4: streamOf('/Type /Metadata /Subtype /XML', Buffer.from(nested('<a>', '', '</a>', 2_500_000))),
        },
      }),
    ],
  ];
}

function zipBombs(): Bomb[] {
  const zeros = { bytes: deflateRawSync(Buffer.alloc(100_000_000), { level: 9 }), size: 100_000_000 };
  let inner: Buffer = Buffer.alloc(10_000_000);
  for (let depth = 0; depth < 12; depth++) inner = zipOf([{ name: 'a.zip', data: inner }]);
  const part = (name: string, data: string): ZipPart => ({ name, data });
  const entities = times(12, (at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join('');
  return [
    [
      '200 parts of 100 MB',
      makeDocx({ extra: times(200, (at) => ({ name: `word/media/${at}.bin`, deflated: zeros })) }),
    ],
    [
      'a part that declares a false size',
      makeDocx({ extra: [{ name: 'word/media/a.bin', deflated: { ...zeros, size: 10 } }] }),
    ],
    ['zips 12 deep', makeDocx({ extra: [{ name: 'word/embeddings/a.zip', data: inner }] })],
    ['100,000 parts', makeDocx({ extra: times(100_000, (at) => part(`a/${at}`, '')) })],
    ['200,000 paragraphs', makeDocx({ body: '<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(200_000) })],
    [
      'tables 2,000 deep',
      makeDocx({ body: nested('<w:tbl><w:tr><w:tc>', '<w:p/>', '<w:p/></w:tc></w:tr></w:tbl>', 2000) }),
    ],
    ['elements 200,000 deep', makeDocx({ body: nested('<w:p>', '', '</w:p>', 200_000) })],
    [
      'nested entities',
      zipOf([
        part('mimetype', 'application/vnd.oasis.opendocument.text'),
        part('content.xml', `<!DOCTYPE a [<!ENTITY e0 "lol">${entities}]><a>&e12;</a>`),
      ]),
    ],
    [
      'a manifest of 250 MB',
      zipOf([
        part('mimetype', 'application/vnd.oasis.opendocument.text'),
        {
          name: 'META-INF/manifest.xml',
          deflated: { bytes: deflateRawSync(Buffer.alloc(250_000_000, 97)), size: 250_000_000 },
        },
      ]),
    ],
    ['1,000,000 nested RTF groups', Buffer.from(`{\\rtf1 ${'{'.repeat(1_000_000)}`)],
    [
      'an RTF image with a large declared size',
      Buffer.from(`{\\rtf1 {\\pict\\pngblip\\picw99999\\pich99999 ${'89504e47'.repeat(100_000)}}}`),
    ],
  ];
}

const SFNT = Buffer.from('0001000000040080000300104f532f32', 'hex');

/** Returns an HTML page that embeds and uses the given font. */
const fontPage = (font: Buffer): Buffer =>
  Buffer.from(
    `<!doctype html><style>@font-face{font-family:x;src:url(data:font/ttf;base64,${font.toString('base64')})}p{font:40px x}</style><p>Text`,
  );

function pageBombs(): Bomb[] {
  const woff = Buffer.alloc(44 + 20);
  woff.write('wOFF');
  woff.writeUInt32BE(0x00010000, 4);
  woff.writeUInt32BE(64, 8);
  woff.writeUInt16BE(1, 12);
  woff.writeUInt32BE(0xffffffff, 16);
  woff.write('glyf', 44);
  woff.writeUInt32BE(0xffffffff, 56);
  return [
    ['elements 1,000,000 deep', Buffer.from('<b>'.repeat(1_000_000))],
    ['div elements 400,000 deep', Buffer.from('<div>'.repeat(400_000))],
    ['700,000 elements', Buffer.from('<p>x'.repeat(700_000))],
    ['300,000 links', Buffer.from('<a href=/x>y</a>'.repeat(300_000))],
    ['300,000 attributes', Buffer.from(`<p ${times(300_000, (at) => `a${at}=1`).join(' ')}>`)],
    ['tables 200,000 deep', Buffer.from('<table><tr><td>'.repeat(200_000))],
    [
      'formatting elements that are reopened in each paragraph',
      Buffer.from(`${times(5000, (at) => `<font size=${at}>`).join('')}${'<p>x'.repeat(5000)}`),
    ],
    ['one attribute of 5 MB', Buffer.from(`<meta name=description content="${'&amp;'.repeat(900_000)}">`)],
    [
      '200,000 style rules',
      Buffer.from(
        `<style>${'.a .b{display:none}'.repeat(200_000)}</style>${'<p class=a><b class=b>x'.repeat(20_000)}`,
      ),
    ],
    [
      'nested selectors',
      Buffer.from(`<style>${':not('.repeat(100_000)}a${')'.repeat(100_000)}{display:none}</style><p>x`),
    ],
    ['nested SVG and MathML', Buffer.from('<svg><foreignObject><math><mtext>'.repeat(100_000))],
    ['nested templates', Buffer.from('<template>'.repeat(400_000))],
    ['bytes above 127', Buffer.alloc(5_000_000, 0xff)],
    ['null characters', Buffer.concat([Buffer.from('<!doctype html><p>'), Buffer.alloc(4_000_000)])],
    ['a truncated font', fontPage(SFNT)],
    ['a font with 3 MB of zeros', fontPage(Buffer.concat([SFNT, Buffer.alloc(3_000_000)]))],
    ['a WOFF font that decompresses to 4 GB', fontPage(woff)],
  ];
}

/** Returns every PDF, document and HTML page that expands far beyond its size ("bomb"). */
export function documentBombs(): HostileFile[] {
  const as = (kind: HostileFile['kind'], format: string, bombs: readonly Bomb[]): HostileFile[] =>
    bombs.map(([name, bytes]) => ({ name: `${format}, ${name}`, kind, bytes }));
  return [
    ...as('pdf', 'PDF', pdfBombs()),
    ...as('document', 'document', zipBombs()),
    ...as('page', 'HTML', pageBombs()),
  ];
}

const vectors = (name: string, pattern: RegExp): Buffer[] => {
  const folder = new URL(`../../vectors/${name}/`, import.meta.url);
  const names = readdirSync(folder).filter((file) => pattern.test(file));
  return names.sort().map((file) => readFileSync(new URL(file, folder)));
};

const PAGES = [
  '<!doctype html><title>A</title><meta name=description content=b><h1>c</h1><a href=/d>e</a><img src=f alt=g><style>h{display:none}</style><p hidden>i',
  '<svg><title>a</title><foreignObject><p>b</p></foreignObject></svg><math><mi>c</mi></math><table><tr><td>d</table><select><option>e</select>',
  '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><base href="//a"/></head><body><![CDATA[b]]><template><p>c</p></template></body></html>',
];

/** Returns small valid files of each kind as seeds for mutation. */
export const documentSeeds = (): Record<'pdf' | 'document' | 'page', Buffer[]> => ({
  pdf: [...vectors('pdf', /\.pdf$/), makePdf({ objects: ONE_PAGE })],
  document: [
    ...vectors('office', /\.(docx?|odt)$/),
    makeDocx(),
    makeOdt('<text:p>x</text:p>'),
    Buffer.from('{\\rtf1 Hello {\\b world}}'),
  ],
  page: [
    ...PAGES.map((page) => Buffer.from(page)),
    fontPage(Buffer.concat([SFNT, Buffer.alloc(400)])),
    gzipSync('<p>x'),
  ],
});
