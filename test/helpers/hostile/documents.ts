import { readdirSync, readFileSync } from 'node:fs';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { makeDocx, makeOdt, type ZipPart, zipOf } from '../office.ts';
import { CATALOG, makePdf, makeXrefStreamPdf, ONE_PAGE, PAGE, streamOf } from '../pdf.ts';
import type { HostileFile } from './file.ts';

type Named = [name: string, bytes: Buffer];

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

function pdfs(): Named[] {
  const objectStream = (count: number) => packed(300_000, 1, `/Type /ObjStm /N ${count} /First 10`);
  const forms = Object.fromEntries(
    times(8, (at): [number, string] => [
      100 + at,
      `<< /Type /XObject /Subtype /Form /Resources << /XObject << /A ${101 + at} 0 R /B ${101 + at} 0 R >> >> >>`,
    ]),
  );
  const tree = Object.fromEntries(
    times(6, (at): [number, string] => [
      100 + at,
      `<< /Type /Pages /Kids [${101 + at} 0 R ${101 + at} 0 R] /Count 2 >>`,
    ]),
  );
  return [
    [
      'a stream that decompresses to 300 KB',
      makePdf({
        objects: {
          ...ONE_PAGE,
          1: '<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>',
          4: packed(300_000, 1),
        },
      }),
    ],
    [
      'an object stream that decompresses to 300 KB',
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
          4: packed(100_000, 4),
        },
      }),
    ],
    [
      'a cross-reference stream that decompresses to 500 KB',
      makeXrefStreamPdf({
        objects: ONE_PAGE,
        dictionary: '/Size 71000 /Filter /FlateDecode',
        encode: (entries) => deflateSync(Buffer.concat([entries, Buffer.alloc(500_000)])),
      }),
    ],
    ['a size that is too large', makeXrefStreamPdf({ objects: ONE_PAGE, dictionary: '/Size 5000' })],
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
      'a page tree of two to the power of six',
      makePdf({
        objects: { ...ONE_PAGE, 2: '<< /Type /Pages /Kids [100 0 R] /Count 1 >>', ...tree, 106: PAGE },
      }),
    ],
    [
      'arrays 500 deep',
      makePdf({ objects: { ...ONE_PAGE, 9: `<< /Title ${nested('[', '0', ']', 500)} >>` } }),
    ],
    ['dictionaries 500 deep', makePdf({ objects: { ...ONE_PAGE, 9: nested('<< /A ', '0', ' >>', 500) } })],
    ['a title of 20 KB', makePdf({ objects: { ...ONE_PAGE, 9: `<< /Title (${'a'.repeat(20_000)}) >>` } })],
    [
      '500 objects',
      makePdf({
        objects: { ...ONE_PAGE, ...Object.fromEntries(times(500, (at) => [at + 100, 'null'])) },
      }),
    ],
    [
      '4,000 pages',
      makePdf({
        objects: {
          1: CATALOG,
          2: `<< /Type /Pages /Kids [${'3 0 R '.repeat(4000)}] /Count 4000 >>`,
          3: PAGE,
          9: '<< >>',
        },
      }),
    ],
    [
      'an XMP packet with elements 500 deep',
      makePdf({
        objects: {
          ...ONE_PAGE,
          1: '<< /Type /Catalog /Pages 2 0 R /Metadata 4 0 R >>',
          4: streamOf('/Type /Metadata /Subtype /XML', Buffer.from(nested('<a>', '', '</a>', 500))),
        },
      }),
    ],
  ];
}

function archives(): Named[] {
  const zeros = { bytes: deflateRawSync(Buffer.alloc(10_000), { level: 9 }), size: 10_000 };
  let inner: Buffer = Buffer.alloc(1000);
  for (let depth = 0; depth < 12; depth++) inner = zipOf([{ name: 'a.zip', data: inner }]);
  const part = (name: string, data: string): ZipPart => ({ name, data });
  const entities = times(3, (at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join('');
  return [
    [
      '20 parts of 10 KB',
      makeDocx({ extra: times(20, (at) => ({ name: `word/media/${at}.bin`, deflated: zeros })) }),
    ],
    [
      'a part that declares a false size',
      makeDocx({ extra: [{ name: 'word/media/a.bin', deflated: { ...zeros, size: 10 } }] }),
    ],
    ['zips 12 deep', makeDocx({ extra: [{ name: 'word/embeddings/a.zip', data: inner }] })],
    ['1,000 parts', makeDocx({ extra: times(1000, (at) => part(`a/${at}`, '')) })],
    ['2,000 paragraphs', makeDocx({ body: '<w:p><w:r><w:t>x</w:t></w:r></w:p>'.repeat(2000) })],
    [
      'tables 20 deep',
      makeDocx({ body: nested('<w:tbl><w:tr><w:tc>', '<w:p/>', '<w:p/></w:tc></w:tr></w:tbl>', 20) }),
    ],
    ['elements 200 deep', makeDocx({ body: nested('<w:p>', '', '</w:p>', 200) })],
    [
      'nested entities',
      zipOf([
        part('mimetype', 'application/vnd.oasis.opendocument.text'),
        part('content.xml', `<!DOCTYPE a [<!ENTITY e0 "lol">${entities}]><a>&e3;</a>`),
      ]),
    ],
    [
      'a manifest of 250 KB',
      zipOf([
        part('mimetype', 'application/vnd.oasis.opendocument.text'),
        {
          name: 'META-INF/manifest.xml',
          deflated: { bytes: deflateRawSync(Buffer.alloc(250_000, 97)), size: 250_000 },
        },
      ]),
    ],
    ['200 nested RTF groups', Buffer.from(`{\\rtf1 ${'{'.repeat(200)}`)],
    [
      'an RTF image with a large declared size',
      Buffer.from(`{\\rtf1 {\\pict\\pngblip\\picw9999\\pich9999 ${'89504e47'.repeat(100)}}}`),
    ],
  ];
}

const SFNT = Buffer.from('0001000000040080000300104f532f32', 'hex');

/** Returns an HTML page that embeds and uses the given font. */
const fontPage = (font: Buffer): Buffer =>
  Buffer.from(
    `<!doctype html><style>@font-face{font-family:x;src:url(data:font/ttf;base64,${font.toString('base64')})}p{font:40px x}</style><p>Text`,
  );

function pages(): Named[] {
  const woff = Buffer.alloc(44 + 20);
  woff.write('wOFF');
  woff.writeUInt32BE(0x00010000, 4);
  woff.writeUInt32BE(64, 8);
  woff.writeUInt16BE(1, 12);
  woff.writeUInt32BE(100_000, 16);
  woff.write('glyf', 44);
  woff.writeUInt32BE(100_000, 56);
  return [
    ['elements 2,000 deep', Buffer.from('<b>'.repeat(2000))],
    ['div elements 2,000 deep', Buffer.from('<div>'.repeat(2000))],
    ['7,000 elements', Buffer.from('<p>x'.repeat(7000))],
    ['3,000 links', Buffer.from('<a href=/x>y</a>'.repeat(3000))],
    ['3,000 attributes', Buffer.from(`<p ${times(3000, (at) => `a${at}=1`).join(' ')}>`)],
    ['tables 1,000 deep', Buffer.from('<table><tr><td>'.repeat(1000))],
    [
      'formatting elements that are reopened in each paragraph',
      Buffer.from(`${times(100, (at) => `<font size=${at}>`).join('')}${'<p>x'.repeat(200)}`),
    ],
    ['one attribute of 50 KB', Buffer.from(`<meta name=description content="${'&amp;'.repeat(10_000)}">`)],
    [
      '2,000 style rules',
      Buffer.from(
        `<style>${'.a .b{display:none}'.repeat(2000)}</style>${'<p class=a><b class=b>x'.repeat(200)}`,
      ),
    ],
    [
      'nested selectors',
      Buffer.from(`<style>${':not('.repeat(200)}a${')'.repeat(200)}{display:none}</style><p>x`),
    ],
    ['nested SVG and MathML', Buffer.from('<svg><foreignObject><math><mtext>'.repeat(500))],
    ['nested templates', Buffer.from('<template>'.repeat(1000))],
    ['bytes above 127', Buffer.alloc(50_000, 0xff)],
    ['null characters', Buffer.concat([Buffer.from('<!doctype html><p>'), Buffer.alloc(40_000)])],
    ['a truncated font', fontPage(SFNT)],
    ['a font with 30 KB of zeros', fontPage(Buffer.concat([SFNT, Buffer.alloc(30_000)]))],
    ['a WOFF font that declares 100 KB', fontPage(woff)],
  ];
}

/**
 * Returns PDFs, documents and HTML pages that are dense, deep or damaged. They are small, so that none harms a program without
 * limits: with larger numbers, files of these forms exhaust its memory, its stack or its time. Tests of the limits lower these.
 */
export function unusualDocuments(): HostileFile[] {
  const as = (kind: HostileFile['kind'], format: string, list: readonly Named[]): HostileFile[] =>
    list.map(([name, bytes]) => ({ name: `${format}, ${name}`, kind, bytes }));
  return [
    ...as('pdf', 'PDF', pdfs()),
    ...as('document', 'document', archives()),
    ...as('page', 'HTML', pages()),
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
