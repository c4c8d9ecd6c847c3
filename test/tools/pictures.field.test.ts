import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import test from 'ava';
import sharp from 'sharp';
import { toExif } from '../../activities/images/density.ts';
import { pngChunk } from '../../activities/images/png.ts';
import { pngChunks } from '../../activities/images/pngChunks.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { jpegSegment, makeJpeg } from '../helpers/jpeg.ts';
import { type LoadedTool, loadTool } from '../helpers/tool.ts';

// Pictures that reports on the tools of this field tell of: what each states of its colours and its density, and how it is coded.

const files = await startFiles();
test.after.always(() => files.close());

const watermark = await loadTool('watermark-image');
const TOOLS: readonly [tool: LoadedTool, body: Record<string, unknown>][] = [
  [watermark, { text: 'x', position: 'bottom-right' }],
  [await loadTool('image-upscale'), { factor: 2 }],
];
const fieldCase = (name: string): Buffer => readFileSync(new URL(`../cases/files/${name}`, import.meta.url));

const canvas = (width = 40, height = 24) =>
  sharp({ create: { width, height, channels: 3, background: { r: 40, g: 90, b: 200 } } });

/** Inserts a chunk after the header of a PNG. */
const withChunk = (png: Buffer, type: string, data: Buffer): Buffer =>
  Buffer.concat([png.subarray(0, 33), pngChunk(type, data), png.subarray(33)]);
const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};
const chunkOf = (png: Buffer, type: string): string | null =>
  [...pngChunks(png)].find((chunk) => chunk.type === type)?.data.toString('hex') ?? null;

async function refusal(tool: LoadedTool, bytes: Buffer, body: Record<string, unknown>) {
  try {
    await makeImage(tool, files, bytes, body);
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, detail: error.detail ?? '' };
    throw error;
  }
  return { code: 'ok', detail: '' };
}

/** Chunks of the PNG specification that say how samples are to be shown, with valid data. */
const CHUNKS = {
  cICP: Buffer.from([9, 16, 0, 1]),
  mDCV: Buffer.concat([Buffer.from('8a4833fc2134997819fb05a23d134042', 'hex'), words(10_000_000, 50)]),
  cLLI: words(10_000_000, 2_000_000),
  sRGB: Buffer.from([0]),
  gAMA: words(100_000),
  cHRM: words(31_270, 32_900, 70_800, 29_200, 17_000, 79_700, 13_100, 4600),
};

for (const [tool, body] of TOOLS) {
  const { name } = tool.definition;
  const make = (bytes: Buffer) => makeImage(tool, files, bytes, body);

  test(`${name}: what a PNG states of its colours is kept`, async (t) => {
    for (const file of ['img-png-cicp-pq.png', 'img-png-gama-linear.png']) {
      const source = fieldCase(file);
      const made = await make(source);
      for (const type of Object.keys(CHUNKS))
        t.is(chunkOf(made, type), chunkOf(source, type), `${file} ${type}`);
    }
    const grey = canvas().toColourspace('b-w');
    for (const image of [canvas(), canvas().ensureAlpha(0.5), canvas().png({ palette: true }), grey]) {
      const plain = await image.clone().png().toBuffer();
      for (const types of [['cICP', 'mDCV', 'cLLI'], ['gAMA', 'cHRM'], ['sRGB']] as const) {
        const made = await make(
          types.reduce<Buffer>((png, type) => withChunk(png, type, CHUNKS[type]), plain),
        );
        for (const [type, data] of Object.entries(CHUNKS)) {
          const wanted = types.some((it) => it === type) ? data.toString('hex') : null;
          t.is(chunkOf(made, type), wanted, type);
        }
      }
    }
  });

  test(`${name}: colour chunks that no reader obeys are not kept`, async (t) => {
    const plain = await canvas().png().toBuffer();
    const broken = withChunk(plain, 'gAMA', CHUNKS.gAMA);
    broken[33 + 8 + 4] = 1;
    const late = Buffer.concat([plain.subarray(0, -12), pngChunk('cICP', CHUNKS.cICP), plain.subarray(-12)]);
    for (const [type, bytes] of [
      ['gAMA', broken],
      ['cICP', late],
      ['cHRM', withChunk(plain, 'cHRM', CHUNKS.cHRM.subarray(4))],
    ] as const)
      t.is(chunkOf(await make(bytes), type), null, type);
  });

  test(`${name}: the density is kept, and none is invented`, async (t) => {
    const densityOf = async (bytes: Buffer) => {
      const { format } = await sharp(bytes).metadata();
      if (format === 'png') return chunkOf(bytes, 'pHYs');
      // JFIF has the unit, and the density across and down: 0 is none, 1 per inch, 2 per cm.
      if (format === 'jpeg') return bytes[3] === 0xe0 ? bytes.subarray(13, 18).toString('hex') : null;
      const args = ['-s3', '-XResolution', '-YResolution', '-'];
      const values = execFileSync('exiftool', args, { input: bytes, encoding: 'utf8' }).trim();
      return values === '' ? null : values.split(/\s+/).join();
    };
    const per300 = words(11_811, 11_811).toString('hex');
    t.is(await densityOf(await make(fieldCase('img-png-phys.png'))), `${per300}01`);

    const png = canvas().png();
    const jpeg = canvas().jpeg();
    const plainPng = await png.clone().toBuffer();
    const bare = Buffer.concat([
      plainPng.subarray(0, 33),
      ...[...pngChunks(plainPng)]
        .filter(({ type }) => type !== 'pHYs' && type !== 'IHDR')
        .map(({ start, end }) => plainPng.subarray(start, end)),
    ]);
    t.is(await densityOf(await make(bare)), null);
    const oblong = withChunk(bare, 'pHYs', Buffer.concat([words(2, 1), Buffer.from([0])]));
    t.is(await densityOf(await make(oblong)), `${words(2, 1).toString('hex')}00`);
    // libpng writes the density after the palette.
    const indexed = await png.clone().png({ palette: true }).withMetadata({ density: 300 }).toBuffer();
    t.true(indexed.indexOf('pHYs') > indexed.indexOf('PLTE'));
    t.is(await densityOf(await make(indexed)), `${per300}01`);
    const turned = { orientation: 6, density: 300 };
    t.is(await densityOf(await make(await png.clone().withMetadata(turned).toBuffer())), `${per300}01`);

    const plainJpeg = await jpeg.clone().toBuffer();
    const withJfif = (plain: Buffer, values: string) => {
      const data = Buffer.concat([Buffer.from('JFIF\0\x01\x02', 'latin1'), Buffer.from(values, 'hex')]);
      return Buffer.concat([
        plain.subarray(0, 2),
        jpegSegment(0xe0, Buffer.concat([data, Buffer.alloc(2)])),
        plain.subarray(2),
      ]);
    };
    t.is(await densityOf(await make(plainJpeg)), null);
    t.is(await densityOf(await make(withJfif(plainJpeg, '0000010001'))), null);
    for (const values of ['01012c012c', '0200760076', '0000020001', '0100480048'])
      t.is(await densityOf(await make(withJfif(plainJpeg, values))), values);
    const exif = await jpeg.clone().withMetadata({ density: 300 }).toBuffer();
    t.is(await densityOf(await make(exif)), '01012c012c');
    // Without a unit (TIFF 6.0, section 8), a density is the ratio of the sides of a pixel.
    const tiff = toExif({ x: 600, y: 300, unit: 'inch' }) ?? Buffer.alloc(0);
    tiff[42] = 1;
    const segment = jpegSegment(0xe1, Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), tiff]));
    const oblongExif = Buffer.concat([plainJpeg.subarray(0, 2), segment, plainJpeg.subarray(2)]);
    t.is(await densityOf(await make(oblongExif)), '000258012c');

    const webp = canvas().webp();
    t.is(await densityOf(await make(await webp.clone().toBuffer())), null);
    t.is(
      await densityOf(await make(await webp.clone().withMetadata({ density: 300 }).toBuffer())),
      '300,300',
    );
  });

  test(`${name}: the chroma of a JPEG keeps its resolution`, async (t) => {
    /** Sampling factors of luma and of the first chroma in the frame header. */
    const samplingOf = (jpeg: Buffer) => {
      const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
      return [jpeg[frame + 11], jpeg[frame + 14]];
    };
    for (const file of ['img-jpg-422.jpg', 'img-jpg-411.jpg'])
      t.deepEqual(samplingOf(await make(fieldCase(file))), [0x11, 0x11], file);
    for (const [across, down, wanted] of [
      [1, 1, 0x11],
      [2, 1, 0x11],
      [1, 2, 0x11],
      [4, 1, 0x11],
      [2, 2, 0x22],
      [4, 2, 0x22],
    ] as const) {
      const source = makeJpeg({
        units: [4, 4],
        samplings: [
          [across, down],
          [1, 1],
          [1, 1],
        ],
        level: (component, column, row) => (component === 0 ? 128 : 60 + 130 * ((column + row) % 2)),
      });
      const made = await make(source);
      t.deepEqual(samplingOf(made), [wanted, 0x11], `${across} ${down}`);
      // Centres of blocks far from the watermark have the colours of the source.
      const [before, after] = await Promise.all(
        [sharp(source), sharp(made)].map((it) => it.raw().toBuffer({ resolveWithObject: true })),
      );
      const scale = (after?.info.width ?? 0) / (before?.info.width ?? 1);
      const pixel = (image: typeof before, x: number, y: number) => [
        ...(image?.data.subarray(3 * (y * image.info.width + x), 3 * (y * image.info.width + x) + 3) ?? []),
      ];
      const [x, y] = [4 * across, 4 * down];
      const pairs = pixel(before, x, y).map((value, channel) =>
        Math.abs(value - (pixel(after, x * scale, y * scale)[channel] ?? 0)),
      );
      t.true(Math.max(...pairs) <= 8, `${across} ${down} ${pairs}`);
    }
  });

  test(`${name}: stray bytes between the segments of a JPEG are skipped, as in browsers`, async (t) => {
    const outcome = (bytes: Buffer) => refusal(tool, bytes, body);
    t.like(await outcome(fieldCase('img-jpg-garbage-between.jpg')), { code: 'ok' });
    const grey = (stray: string) =>
      makeJpeg({
        units: [4, 3],
        samplings: [[1, 1]],
        level: (_, column) => 50 + 40 * column,
        start: Buffer.concat([jpegSegment(0xfe, Buffer.from('a comment')), Buffer.from(stray, 'hex')]),
        between: Buffer.from(stray, 'hex'),
      });
    // Bytes; a stuffed zero; fill bytes; bytes that look like a marker without a segment.
    for (const stray of ['0102', 'ff00ff00', 'ffffff', '00ffd0', '7aff01'])
      t.like(await outcome(grey(stray)), { code: 'ok' }, stray);
  });

  test(`${name}: JPEGs that browsers do not show and PNGs for iOS are unsupported, and the answer says so`, async (t) => {
    const flat = (parts: { bits?: number; frame?: number }) =>
      makeJpeg({ units: [2, 2], samplings: [[1, 1]], level: () => 90, ...parts });
    t.like(await refusal(tool, flat({}), body), { code: 'ok' });
    for (const [bytes, says] of [
      [flat({ bits: 12, frame: 0xc1 }), /12 bits per sample/],
      [flat({ bits: 12, frame: 0xc2 }), /12 bits per sample/],
      [flat({ bits: 16, frame: 0xc3 }), /16 bits per sample/],
      [flat({ frame: 0xc3 }), /lossless/],
      [flat({ frame: 0xc9 }), /arithmetic/],
    ] as const) {
      const { code, detail } = await refusal(tool, bytes, body);
      t.is(code, 'unsupported_source');
      t.regex(detail, says);
    }
    for (const image of [canvas(), canvas().ensureAlpha(0.5), canvas().toColourspace('b-w')]) {
      const png = await image.png().toBuffer();
      const forIos = Buffer.concat([
        png.subarray(0, 8),
        pngChunk('CgBI', Buffer.from('50002002', 'hex')),
        png.subarray(8),
      ]);
      const { code, detail } = await refusal(tool, forIos, body);
      t.is(code, 'unsupported_source');
      t.regex(detail, /CgBI/);
    }
  });

  test(`${name}: a gain map is named as lost, and the image is that without it`, async (t) => {
    const jpeg = await canvas().jpeg().toBuffer();
    const map = await canvas(10, 6).toColourspace('b-w').jpeg().toBuffer();
    const xmp = (namespace: string) =>
      jpegSegment(
        0xe1,
        Buffer.from(
          `http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:g="${namespace}" g:Version="1.0"/></rdf:RDF></x:xmpmeta>`,
          'latin1',
        ),
      );
    const iso = jpegSegment(0xe2, Buffer.from('urn:iso:std:iso:ts:21496:-1\0\0\0\0\0', 'latin1'));
    const withSegment = (bytes: Buffer, segment: Buffer) =>
      Buffer.concat([bytes.subarray(0, 2), segment, bytes.subarray(2)]);
    const adobe = xmp('http://ns.adobe.com/hdr-gain-map/1.0/');
    const apple = xmp('http://ns.apple.com/HDRGainMap/1.0/');
    const answer = async (bytes: Buffer) =>
      await tool.call({ fileUrl: files.put({ bytes }), ...body }, { egress: files.guard });
    const plain = await answer(Buffer.concat([jpeg, map]));
    t.deepEqual(plain.losses, []);
    for (const source of [
      Buffer.concat([withSegment(jpeg, adobe), withSegment(map, adobe)]),
      Buffer.concat([withSegment(jpeg, iso), withSegment(map, iso)]),
      Buffer.concat([jpeg, withSegment(map, apple)]),
    ]) {
      const made = await answer(source);
      t.deepEqual(made.losses, ['gain_map']);
      t.is(made.fileBase64, plain.fileBase64);
    }
  });
}

/** Colours of the corners of an upright image: top left, top right, bottom left, bottom right. */
const CORNERS = ['200,0,0', '0,160,0', '0,0,200', '180,180,0'];
/** The corners as they are stored, by EXIF orientation (EXIF 2.32, 4.6.5). */
const STORED: Readonly<Record<number, readonly number[]>> = {
  1: [0, 1, 2, 3],
  2: [1, 0, 3, 2],
  3: [3, 2, 1, 0],
  4: [2, 3, 0, 1],
  5: [0, 2, 1, 3],
  6: [1, 3, 0, 2],
  7: [3, 1, 2, 0],
  8: [2, 0, 3, 1],
};

test('an animated WebP with an orientation is turned, frame by frame', async (t) => {
  for (const [orientation, order] of Object.entries(STORED)) {
    const [width, height] = Number(orientation) < 5 ? [60, 40] : [40, 60];
    const frames = 3;
    const pixels = Buffer.alloc(3 * width * height * frames);
    for (let frame = 0; frame < frames; frame++)
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
          const corner = order[2 * Number(y >= height / 2) + Number(x >= width / 2)] ?? 0;
          const colour = (CORNERS[corner] ?? '').split(',').map((value) => Number(value) + frame);
          pixels.set(colour, 3 * ((frame * height + y) * width + x));
        }
    const raw = { width, height: height * frames, channels: 3, pageHeight: height } as const;
    const source = await sharp(pixels, { raw })
      .withMetadata({ orientation: Number(orientation) })
      .webp({ lossless: true, delay: [100, 200, 300] })
      .toBuffer();
    const made = await makeImage(watermark, files, source, { text: 'x', position: 'center' });
    const metadata = await sharp(made, { animated: true }).metadata();
    t.like(metadata, { width: 60, pageHeight: 40, pages: frames, delay: [100, 200, 300] });
    t.is(metadata.orientation, undefined);
    for (let page = 0; page < frames; page++) {
      const data = await sharp(made, { page }).removeAlpha().raw().toBuffer();
      const corners = [0, 59, 39 * 60, 39 * 60 + 59].map((at) =>
        [...data.subarray(3 * at, 3 * at + 3)].map((value) => value - page).join(),
      );
      t.deepEqual(corners, CORNERS, `${orientation} ${page}`);
    }
  }
});

test('a watermark on an HDR image is as bright as paper', async (t) => {
  const black = await canvas(300, 200).linear(0, 0).png().toBuffer();
  for (const [transfer, white] of [
    [1, 255],
    [16, 148],
    [18, 191],
  ] as const) {
    const source = withChunk(black, 'cICP', Buffer.from([9, transfer, 0, 1]));
    const made = await makeImage(watermark, files, source, { text: 'MMM', opacity: 1, position: 'center' });
    const data = await sharp(made).raw().toBuffer();
    t.is(
      data.reduce((most, value) => Math.max(most, value), 0),
      white,
      `${transfer}`,
    );
  }
});

test('an animated PNG, of which one image is left, is named as lost', async (t) => {
  const still = await canvas().png().toBuffer();
  for (const [bytes, losses] of [
    [withChunk(still, 'acTL', words(3, 0)), ['animation']],
    [withChunk(still, 'acTL', words(1, 0)), []],
    // Browsers show the only frame instead of the default image.
    [
      Buffer.concat([
        withChunk(still, 'acTL', words(1, 0)).subarray(0, -12),
        pngChunk('fcTL', Buffer.concat([words(0, 40, 24, 0, 0), Buffer.from([0, 1, 0, 10, 0, 0])])),
        pngChunk('fdAT', Buffer.concat([words(1), deflateSync(Buffer.alloc(24 * (1 + 3 * 40)))])),
        still.subarray(-12),
      ]),
      ['animation'],
    ],
    [still, []],
  ] as const) {
    const fileUrl = files.put({ bytes });
    t.deepEqual((await watermark.call({ fileUrl, text: 'x' }, { egress: files.guard })).losses, losses);
  }
});
