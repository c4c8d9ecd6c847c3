/** The content of a PDF object: text in Latin-1, or bytes. */
type Body = string | Buffer;

interface PdfParts {
  /** Objects by object number: 1 is the catalog, 2 the root of the page tree, 9 the information dictionary. */
  objects: Readonly<Record<number, Body>>;
  /** Additional entries of the trailer dictionary. */
  trailer?: string;
  /** The offset of the cross-reference table that the file states. Default: the real offset. */
  startxref?: number;
}

export const CATALOG = '<< /Type /Catalog /Pages 2 0 R >>';
export const PAGE = '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>';
/** The objects of a PDF with one page and a title. */
export const ONE_PAGE: Readonly<Record<number, Body>> = {
  1: CATALOG,
  2: '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
  3: PAGE,
  9: '<< /Title (Hello) >>',
};

const offsetText = (offset: number | undefined): string =>
  offset === undefined ? '0000000000 00000 f \n' : `${String(offset).padStart(10, '0')} 00000 n \n`;

/** Returns a PDF stream object. */
export const streamOf = (dictionary: string, data: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`<< ${dictionary} /Length ${data.length} >>\nstream\n`),
    data,
    Buffer.from('\nendstream'),
  ]);

/**
 * Assembles a PDF file (ISO 32000-2, 7.5). Invalid objects or entries are copied as they are, so that tests can create
 * invalid files.
 */
export function makePdf({ objects, trailer = '', startxref }: PdfParts): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const offsets = new Map<number, number>();
  let length = 9;
  const add = (bytes: Buffer): void => {
    parts.push(bytes);
    length += bytes.length;
  };
  for (const [number, body] of Object.entries(objects)) {
    offsets.set(Number(number), length);
    add(Buffer.from(`${number} 0 obj\n`));
    add(typeof body === 'string' ? Buffer.from(body, 'latin1') : body);
    add(Buffer.from('\nendobj\n'));
  }
  const size = Math.max(...offsets.keys()) + 1;
  const table = Array.from({ length: size - 1 }, (_, index) => offsetText(offsets.get(index + 1)));
  add(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${table.join('')}` +
        `trailer\n<< /Size ${size} /Root 1 0 R /Info 9 0 R ${trailer} >>\n` +
        `startxref\n${startxref ?? length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}

interface XrefStreamParts {
  objects: Readonly<Record<number, Body>>;
  /** Index of an object within the object stream, by object number. The object stream is object 10. */
  packed?: Readonly<Record<number, number>>;
  /** Entries of the stream dictionary: /Size, /Filter … */
  dictionary: string;
  /** Encodes the cross-reference entries as the data of the stream. Default: unchanged. */
  encode?: (entries: Buffer) => Buffer;
}

/**
 * Assembles a PDF file with a cross-reference stream (ISO 32000-2, 7.5.8) instead of a table; the stream is object 20.
 */
export function makeXrefStreamPdf({
  objects,
  packed = {},
  dictionary,
  encode = (it) => it,
}: XrefStreamParts): Buffer {
  const whole = makePdf({ objects });
  const body = whole.subarray(0, whole.lastIndexOf('xref\n0 '));
  const entry = (type: number, first: number, second: number): Buffer => {
    const bytes = Buffer.alloc(7);
    bytes.writeUInt8(type, 0);
    bytes.writeUInt32BE(first, 1);
    bytes.writeUInt16BE(second, 5);
    return bytes;
  };
  const entries = Array.from({ length: 21 }, (_, number) => {
    const at = number === 20 ? body.length : body.indexOf(`\n${number} 0 obj\n`) + 1;
    const place = packed[number];
    if (place !== undefined) return entry(2, 10, place);
    return at > 0 ? entry(1, at, 0) : entry(0, 0, 0);
  });
  const stream = streamOf(
    `/Type /XRef /W [1 4 2] /Root 1 0 R /Info 9 0 R ${dictionary}`,
    encode(Buffer.concat(entries)),
  );
  const tail = Buffer.from(`\nendobj\nstartxref\n${body.length}\n%%EOF\n`);
  return Buffer.concat([body, Buffer.from('20 0 obj\n'), stream, tail]);
}
