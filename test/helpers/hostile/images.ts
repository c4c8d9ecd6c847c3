import { readdirSync, readFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import type { HostileFile } from './file.ts';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Returns a PNG chunk (PNG, Third Edition, section 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(type, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.length)), 8 + data.length);
  return bytes;
}

/**
 * Returns a black PNG with the given bit depth and colour type, and with extra chunks before and after its image data.
 */
function png({
  width = 10,
  height = 10,
  bits = 8,
  type = 2,
  before = [],
  after = [],
  data = deflateSync(
    Buffer.alloc(height * (1 + Math.ceil((width * bits * ([1, 0, 3, 1, 2, 0, 4][type] ?? 1)) / 8))),
  ),
}: {
  width?: number;
  height?: number;
  bits?: number;
  type?: number;
  before?: readonly Buffer[];
  after?: readonly Buffer[];
  data?: Buffer;
} = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(bits, 8);
  header.writeUInt8(type, 9);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    ...before,
    chunk('IDAT', data),
    ...after,
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const zeros = (size: number): Buffer => deflateSync(Buffer.alloc(size), { level: 9 });
const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at);
  return bytes;
};
const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** Returns a PNG with 20 compressed text chunks of 50 KB each. */
function pngWithTexts(): Buffer {
  const text = deflateSync(Buffer.alloc(50_000, 97), { level: 9 });
  return png({
    before: times(20, (at) => chunk('zTXt', Buffer.concat([Buffer.from(`k${at}\0\0`, 'latin1'), text]))),
  });
}

function pngs(): [name: string, bytes: Buffer][] {
  const text = zeros(50_000);
  const profile = Buffer.concat([Buffer.from('p\0\0', 'latin1'), zeros(200_000)]);
  const xmp = Buffer.from('XML:com.adobe.xmp\0\x01\0\0\0', 'latin1');
  const frame = (sequence: number) =>
    chunk('fcTL', Buffer.concat([words(sequence, 300, 300, 0, 0), Buffer.from('000100640000', 'hex')]));
  return [
    ['zTXt', pngWithTexts()],
    ['iTXt', png({ before: times(20, () => chunk('iTXt', Buffer.concat([xmp, text]))) })],
    ['tEXt', png({ before: times(200, (at) => chunk('tEXt', Buffer.from(`k${at}\0v`))) })],
    ['iCCP of 200 KB', png({ before: [chunk('iCCP', profile)] })],
    ['many iCCP', png({ before: times(20, () => chunk('iCCP', profile)) })],
    [
      'eXIf',
      png({
        before: [
          chunk('eXIf', Buffer.concat([Buffer.from('MM\0*'), words(8, 0xffff), Buffer.alloc(10_000, 1)])),
        ],
      }),
    ],
    ['a palette that is too large', png({ type: 3, before: [chunk('PLTE', Buffer.alloc(9000, 7))] })],
    ['many palettes', png({ type: 3, before: times(20, () => chunk('PLTE', Buffer.alloc(768, 7))) })],
    ['unknown chunks', png({ before: times(100, () => chunk('prVt', Buffer.alloc(32))) })],
    [
      'APNG',
      png({ before: [chunk('acTL', words(1, 0)), frame(0)], after: times(20, (at) => frame(at + 1)) }),
    ],
    ['image data that decompresses to too much', png({ width: 40, height: 40, data: zeros(1_000_000) })],
    ['16 bits', png({ width: 400, height: 400, bits: 16, type: 6 })],
    ['a size beyond the limit', png({ width: 8000, height: 6000, data: zeros(1000) })],
    ['no image data', png({ width: 600, height: 600, data: Buffer.alloc(0) })],
  ];
}

/** Inserts marker segments (ITU-T T.81, B.2.4.6) directly after the SOI marker of a JPEG. */
function withSegments(jpeg: Buffer, segments: readonly { marker: number; data: Buffer }[]): Buffer {
  const parts = segments.map(({ marker, data }) => {
    const head = Buffer.from([0xff, marker, 0, 0]);
    head.writeUInt16BE(data.length + 2, 2);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([jpeg.subarray(0, 2), ...parts, jpeg.subarray(2)]);
}

/** Repeats the scans of a progressive JPEG; each scan is a pass over the whole image. */
function manyScans(jpeg: Buffer): Buffer {
  const first = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  const scans = jpeg.subarray(first, jpeg.length - 2);
  return Buffer.concat([jpeg.subarray(0, first), ...times(3, () => scans), jpeg.subarray(-2)]);
}

async function jpegs(): Promise<[name: string, bytes: Buffer][]> {
  const canvas = sharp({ create: { width: 200, height: 200, channels: 3, background: '#456' } });
  const progressive = await canvas.clone().jpeg({ progressive: true }).toBuffer();
  const small = await canvas.clone().resize(40, 40).jpeg().toBuffer();
  const icc = (at: number) =>
    Buffer.concat([
      Buffer.from(`ICC_PROFILE\0${String.fromCharCode(at + 1)}\xff`, 'latin1'),
      Buffer.alloc(1000, 1),
    ]);
  const exif = Buffer.concat([Buffer.from('Exif\0\0MM\0*'), words(8), Buffer.alloc(6000, 0xff)]);
  const large = Buffer.from(small);
  const frame = large.indexOf(Buffer.from([0xff, 0xc0]));
  large.writeUInt16BE(600, frame + 5);
  large.writeUInt16BE(600, frame + 7);
  return [
    ['scans', manyScans(progressive)],
    [
      'ICC segments',
      withSegments(
        small,
        times(20, (at) => ({ marker: 0xe2, data: icc(at) })),
      ),
    ],
    [
      'EXIF',
      withSegments(
        small,
        times(10, () => ({ marker: 0xe1, data: exif })),
      ),
    ],
    [
      'XMP',
      withSegments(
        small,
        times(10, () => ({
          marker: 0xe1,
          data: Buffer.from(`http://ns.adobe.com/xap/1.0/\0${'<a>'.repeat(200)}`),
        })),
      ),
    ],
    [
      'comments',
      withSegments(
        small,
        times(30, () => ({ marker: 0xfe, data: Buffer.alloc(1000, 97) })),
      ),
    ],
    ['a declared size without the data', large],
  ];
}

/** Returns a RIFF chunk as in WebP files (RFC 9649). */
function riff(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

async function webps(): Promise<[name: string, bytes: Buffer][]> {
  const canvas = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 4, background: { r: 9, g: 8, b: 7, alpha: 0.5 } } });
  const plain = await canvas(40, 40).webp({ lossless: true }).toBuffer();
  const large = await canvas(400, 400).webp({ lossless: true, effort: 0 }).toBuffer();
  const image = plain.subarray(plain.indexOf('VP8L'));
  const extended = (flags: number, width: number, height: number, chunks: readonly Buffer[]) => {
    const head = Buffer.alloc(10);
    head.writeUInt8(flags, 0);
    head.writeUIntLE(width - 1, 4, 3);
    head.writeUIntLE(height - 1, 7, 3);
    return riff('RIFF', Buffer.concat([Buffer.from('WEBP'), riff('VP8X', head), ...chunks]));
  };
  const frame = (size: number) => {
    const head = Buffer.alloc(16);
    head.writeUIntLE(size - 1, 6, 3);
    head.writeUIntLE(size - 1, 9, 3);
    return riff('ANMF', Buffer.concat([head, image]));
  };
  const loop = riff('ANIM', Buffer.alloc(6));
  return [
    ['lossless', large],
    ['a canvas larger than its frame', extended(0x02, 1600, 200, [loop, frame(40)])],
    ['100 frames', extended(0x02, 40, 40, [loop, ...times(100, () => frame(40))])],
    ['40 frames of a canvas of 300 x 300', extended(0x02, 300, 300, [loop, ...times(40, () => frame(40))])],
    ['a profile', extended(0x20, 40, 40, [riff('ICCP', Buffer.alloc(9000, 1)), image])],
    [
      'EXIF and XMP',
      extended(0x0c, 40, 40, [
        image,
        riff('EXIF', Buffer.alloc(4000, 0xff)),
        riff('XMP ', Buffer.from('<a>'.repeat(200))),
      ]),
    ],
  ];
}

function bmps(): [name: string, bytes: Buffer][] {
  const bmp = (width: number, height: number, bits: number, compression: number, data: Buffer) => {
    const head = Buffer.alloc(54);
    head.write('BM');
    head.writeUInt32LE(54 + data.length, 2);
    head.writeUInt32LE(54, 10);
    head.writeUInt32LE(40, 14);
    head.writeInt32LE(width, 18);
    head.writeInt32LE(height, 22);
    head.writeUInt16LE(1, 26);
    head.writeUInt16LE(bits, 28);
    head.writeUInt32LE(compression, 30);
    head.writeUInt32LE(compression === 3 ? 0xffffffff : 0xffffff, 46);
    return Buffer.concat([head, data]);
  };
  return [
    ['missing pixels', bmp(100, 100, 24, 0, Buffer.alloc(0))],
    ['run-length data', bmp(100, 100, 8, 1, Buffer.alloc(10_000, 0xff))],
    [
      'delta escapes in run-length data',
      bmp(100, 100, 8, 1, Buffer.alloc(10_000, Buffer.from([0, 2, 255, 255]))),
    ],
    ['a negative height', bmp(1000, -50_000, 1, 0, Buffer.alloc(100))],
    ['a palette of 16 million colours', bmp(10, 10, 8, 0, Buffer.alloc(2000))],
    ['masks', bmp(100, 100, 32, 3, Buffer.alloc(40_000))],
  ];
}

function gifs(): [name: string, bytes: Buffer][] {
  const head = Buffer.from('GIF89a\0\x02\0\x02\xf7\0\0', 'latin1');
  const image = Buffer.from(`,\0\0\0\0\0\x02\0\x02\0\x08${'\xff'.repeat(256)}\0`, 'latin1');
  return [
    [
      '512 x 512, 10 frames',
      Buffer.concat([head, Buffer.alloc(768), ...times(10, () => image), Buffer.from(';')]),
    ],
  ];
}

/**
 * Returns images that are dense, deep or damaged. They are small, so that none harms a program without limits: with larger
 * numbers, images of these forms exhaust its memory or its time.
 */
export async function unusualImages(): Promise<HostileFile[]> {
  const groups = {
    PNG: pngs(),
    JPEG: await jpegs(),
    WebP: await webps(),
    BMP: bmps(),
    GIF: gifs(),
  };
  return Object.entries(groups).flatMap(([format, list]) =>
    list.map(([name, bytes]): HostileFile => ({ name: `${format}, ${name}`, kind: 'image', bytes })),
  );
}

const folder = (name: string) => new URL(`../../vectors/${name}/`, import.meta.url);
const readAll = (name: string, pattern: RegExp): Buffer[] =>
  readdirSync(folder(name), { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => readFileSync(new URL(file, folder(name))));

/** Returns small valid images of every format as seeds for mutation. */
export async function imageSeeds(): Promise<Buffer[]> {
  const noise = Buffer.from(times(48 * 32 * 4, (at) => (at * 2_654_435_761) >>> 24));
  const canvas = (height = 32) =>
    sharp(noise, { raw: { width: 48, height: 32, channels: 4 } })
      .resize(48, height)
      .withExif({ IFD0: { Artist: 'x' } })
      .withIccProfile('p3');
  const frames = sharp(Buffer.concat([noise, noise]), {
    raw: { width: 48, height: 64, channels: 4, pageHeight: 32 },
  });
  return [
    ...readAll('pngsuite', /\.png$/),
    ...readAll('bmpsuite', /\.bmp$/),
    ...(await Promise.all([
      canvas().png().toBuffer(),
      canvas().png({ palette: true, progressive: true }).toBuffer(),
      canvas().jpeg().toBuffer(),
      canvas().jpeg({ progressive: true }).toBuffer(),
      canvas().toColourspace('cmyk').jpeg().toBuffer(),
      canvas().webp().toBuffer(),
      canvas().webp({ lossless: true }).toBuffer(),
      canvas().gif().toBuffer(),
      frames.webp({ delay: [50, 70] }).toBuffer(),
    ])),
  ];
}
