import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Jimp } from 'jimp';
import type { Page } from 'puppeteer';
import sharp from 'sharp';
import { pngChunk } from '../../activities/images/png.ts';
import { launchChromium } from '../helpers/browser.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { jpegSegment, makeJpeg } from '../helpers/jpeg.ts';
import { loadTool } from '../helpers/tool.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';

/** Changes a picture and encodes it in its format again; null if it cannot. */
type Change = (bytes: Buffer) => Promise<Buffer | null>;
/** Judges a changed picture beside its source, as a number: 0 is best. */
type Judge = (source: Buffer, made: Buffer) => Promise<number>;

interface Kind {
  name: string;
  sources(): Promise<Buffer[]>;
  judge: Judge;
}

const run = promisify(execFile);
const fieldCase = (name: string): Buffer => readFileSync(new URL(`../cases/files/${name}`, import.meta.url));
const orNull = <T>(work: Promise<T>): Promise<T | null> => work.catch(() => null);

/** A photograph-like picture: colours that change in both directions. */
function gradient(width: number, height: number) {
  const data = Buffer.alloc(3 * width * height);
  for (let at = 0; at < width * height; at++) {
    const [x, y] = [at % width, Math.floor(at / width)];
    data.set([(255 * x) / width, (255 * y) / height, 128 + 120 * Math.sin((x + y) / 9)], 3 * at);
  }
  return sharp(data, { raw: { width, height, channels: 3 } });
}

const withChunks = (png: Buffer, ...chunks: readonly [type: string, hex: string][]): Buffer =>
  Buffer.concat([
    png.subarray(0, 33),
    ...chunks.map(([type, hex]) => pngChunk(type, Buffer.from(hex, 'hex'))),
    png.subarray(33),
  ]);

/** Chromaticities of Display P3, and gammas of 1 and 2.2, as in cHRM and gAMA. */
const P3 = '00007a2600008084000109a000007d00000067840001031000003a9800001770';
const [LINEAR, GAMMA] = ['000186a0', '0000b18f'];

async function colours(): Promise<Buffer[]> {
  const png = await gradient(160, 120).png().toBuffer();
  return [
    fieldCase('img-png-cicp-pq.png'),
    fieldCase('img-png-gama-linear.png'),
    withChunks(png, ['gAMA', LINEAR]),
    withChunks(png, ['gAMA', GAMMA], ['cHRM', P3]),
    withChunks(png, ['cICP', '0c0d0001']),
    withChunks(png, ['cICP', '09120001']),
  ];
}

/** The densities that exiftool reads, per inch. */
async function densityOf(bytes: Buffer): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'density-'));
  try {
    await writeFile(join(folder, 'picture'), bytes);
    const names = ['XResolution', 'YResolution', 'PixelsPerUnitX', 'PixelsPerUnitY'];
    const { stdout } = await run('exiftool', [
      '-j',
      ...names.map((name) => `-${name}`),
      join(folder, 'picture'),
    ]);
    const [{ SourceFile: _, ...found } = {}]: Record<string, unknown>[] = JSON.parse(stdout);
    // A PNG counts pixels per metre.
    const values = Object.entries(found).map(([key, value]) =>
      Math.round(Number(value) * (key.startsWith('PixelsPerUnit') ? 0.0254 : 1)),
    );
    // JFIF without a unit states 1.
    return JSON.stringify([...new Set(values.filter((value) => value !== 1))]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function densities(): Promise<Buffer[]> {
  const picture = gradient(60, 40);
  const jpeg = await picture.clone().jpeg().toBuffer();
  const jfif = Buffer.from('JFIF\0\x01\x02\x01\x01\x2c\x01\x2c\0\0', 'latin1');
  return [
    fieldCase('img-png-phys.png'),
    await picture.clone().png().withMetadata({ density: 300 }).toBuffer(),
    Buffer.concat([jpeg.subarray(0, 2), jpegSegment(0xe0, jfif), jpeg.subarray(2)]),
    await picture.clone().jpeg().withMetadata({ density: 300 }).toBuffer(),
    await picture.clone().webp().withMetadata({ density: 300 }).toBuffer(),
  ];
}

const bare = async (): Promise<Buffer[]> => {
  const picture = gradient(60, 40);
  const png = await picture.clone().png().toBuffer();
  // sharp writes a density of its own in front of the image data.
  const density = png.indexOf('pHYs') - 4;
  return [
    Buffer.concat([png.subarray(0, density), png.subarray(density + 21)]),
    await picture.clone().jpeg().toBuffer(),
    await picture.clone().webp().toBuffer(),
  ];
};

/** Mean difference of the upper halves of the chroma, in levels. */
const chromaError: Judge = async (source, made) => {
  const chroma = async (bytes: Buffer) => {
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const upper = data.subarray(0, 3 * info.width * (info.height >> 1));
    const [blue, red]: [number[], number[]] = [[], []];
    for (let at = 0; at < upper.length; at += 3) {
      const [r = 0, g = 0, b = 0] = upper.subarray(at, at + 3);
      blue.push(-0.169 * r - 0.331 * g + 0.5 * b);
      red.push(0.5 * r - 0.419 * g - 0.081 * b);
    }
    return [...blue, ...red];
  };
  const [before, after] = [await chroma(source), await chroma(made)];
  return before.reduce((sum, value, at) => sum + Math.abs(value - (after[at] ?? 0)), 0) / before.length;
};

const subsampled = async (): Promise<Buffer[]> => [
  fieldCase('img-jpg-422.jpg'),
  ...[[2, 1] as const, [1, 2] as const].map((luma) =>
    makeJpeg({
      units: [6, 6],
      samplings: [luma, [1, 1], [1, 1]],
      level: (component, column, row) =>
        component === 0 ? 128 : 40 + 170 * ((column + row + component) % 2),
    }),
  ),
];

const withStrayBytes = async (): Promise<Buffer[]> => [
  fieldCase('img-jpg-garbage-between.jpg'),
  ...['0102', 'ff00ff00', '7aff01'].map((stray) =>
    makeJpeg({
      units: [6, 6],
      samplings: [[1, 1]],
      level: (_, column) => 40 * column,
      between: Buffer.from(stray, 'hex'),
    }),
  ),
];

async function turnedAnimations(): Promise<Buffer[]> {
  const frames = await gradient(60, 80).raw().toBuffer();
  const raw = { width: 60, height: 80, channels: 3, pageHeight: 40 } as const;
  return await Promise.all(
    [5, 6, 8].map((orientation) => sharp(frames, { raw }).withMetadata({ orientation }).webp().toBuffer()),
  );
}

/** Compares how Chromium shows the upper halves of two pictures: the mean difference in levels. */
const shownError =
  (page: Page): Judge =>
  async (source, made) => {
    const shown = async (bytes: Buffer) => {
      const { format } = await sharp(bytes).metadata();
      await page.setContent(
        `<!doctype html><style>*{margin:0}img{display:block}</style><img src="data:image/${format};base64,${bytes.toString('base64')}">`,
        { waitUntil: 'load' },
      );
      const element = await page.$('img');
      const picture = await element?.screenshot();
      return sharp(picture).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    };
    const [before, after] = [await shown(source), await shown(made)];
    const half = 3 * before.info.width * (before.info.height >> 1);
    if (after.data.length !== before.data.length) return 255;
    let sum = 0;
    for (let at = 0; at < half; at++) sum += Math.abs((before.data[at] ?? 0) - (after.data[at] ?? 0));
    return sum / half;
  };

const kindsOf = (page: Page): Kind[] => [
  {
    name: 'cICP, gAMA, cHRM of a PNG: levels off in Chromium',
    sources: colours,
    judge: shownError(page),
  },
  {
    name: '300 dpi: share lost',
    sources: densities,
    judge: async (source, made) => Number((await densityOf(source)) !== (await densityOf(made))),
  },
  {
    name: 'no dpi: share invented',
    sources: bare,
    judge: async (_, made) => Number((await densityOf(made)) !== '[]'),
  },
  { name: 'JPEG 4:2:2 and 4:4:0: levels of chroma off', sources: subsampled, judge: chromaError },
  {
    name: 'stray bytes between JPEG segments: levels off in Chromium',
    sources: withStrayBytes,
    judge: shownError(page),
  },
  {
    name: 'animated WebP with an orientation: share not turned',
    sources: turnedAnimations,
    async judge(_, made) {
      const { width, pageHeight = 0 } = await sharp(made, { animated: true }).metadata();
      return Number(width > pageHeight);
    },
  },
];

const reencode =
  (keep: boolean): Change =>
  async (bytes) => {
    const image = sharp(bytes, { animated: true }).autoOrient();
    return await orNull((keep ? image.keepMetadata() : image).toBuffer());
  };
const jimp: Change = async (bytes) => {
  const { format } = await sharp(bytes).metadata();
  if (format !== 'png' && format !== 'jpeg') return null;
  const image = await orNull(Jimp.read(bytes));
  return image === null ? null : await image.getBuffer(format === 'png' ? 'image/png' : 'image/jpeg');
};

/**
 * Compares watermark-image with programs that encode a picture again, on pictures of the kinds that bug reports tell of. Upper
 * halves are compared, which the watermark does not reach. The tool may differ by less than one
 * level, as JPEG loses some.
 *
 * @param kinds kinds to compare
 */
export async function compareFieldPictures(kinds = /./): Promise<Report> {
  const tool = await loadTool('watermark-image');
  const files = await startFiles();
  const browser = await launchChromium();
  const own: Change = async (bytes) =>
    orNull(makeImage(tool, files, bytes, { text: 'x', position: 'bottom-right' }));
  const programs: [name: string, change: Change][] = [
    ['watermark-image', own],
    ['sharp', reencode(false)],
    ['sharp with metadata', reencode(true)],
    ['Jimp', jimp],
  ];
  const rows: string[][] = [];
  let worst = 0;
  try {
    const page = await browser.newPage();
    for (const { name, sources, judge } of kindsOf(page)) {
      if (!kinds.test(name)) continue;
      const inputs = await sources();
      const cells: string[] = [];
      for (const [program, change] of programs) {
        const found: number[] = [];
        for (const source of inputs) {
          const made = await change(source);
          if (made !== null) found.push(await judge(source, made));
        }
        const mean = found.reduce((sum, value) => sum + value, 0) / found.length;
        if (program === 'watermark-image') worst = Math.max(worst, found.length < inputs.length ? 255 : mean);
        const failed = inputs.length - found.length;
        const notes = failed === 0 ? '' : `${failed} of ${inputs.length} not opened`;
        cells.push([found.length === 0 ? '' : mean.toFixed(1), notes].filter((it) => it !== '').join(', '));
      }
      rows.push([`${name} (${inputs.length})`, ...cells]);
    }
  } finally {
    await browser.close();
    files.close();
  }
  return {
    figures: [{ kinds: rows.length, 'worst result of watermark-image': worst }],
    document: null,
    anchors: {
      name: 'fieldPictures',
      text: table(['pictures; 0 is best', ...programs.map(([name]) => name)], rows),
    },
    isGood: worst < 1,
  };
}
