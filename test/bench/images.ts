import sharp from 'sharp';
import type { Planes } from '../../activities/upscale/networkTypes.ts';
import { openReference } from '../../activities/upscale/reference.ts';
import { costsOf, makeTooLarge, startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

interface ImageRow {
  work: string;
  /** Name of the library with which the tool is compared. */
  library: string;
  /** p50 of the library and of the tool, in milliseconds. */
  libraryMs: number;
  ours: number;
  ratio: number;
}

interface ImageFigures {
  rows: ImageRow[];
  /** Cost of a call that refuses a valid PNG of 42 megapixels, including its download. */
  tooLarge: { tool: string; outcome: string; ms: number; 'MB more': number }[];
}

/** Creates an image of blurred noise, which takes as long to process as a photograph. */
const photograph = (width: number, height: number) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .blur(1.2)
    .jpeg({ quality: 92 })
    .toBuffer();

/** Draws the watermark with sharp alone, as a reference. */
const watermarkWithSharp = (bytes: Buffer) =>
  sharp(bytes)
    .autoOrient()
    .composite([
      {
        input: { text: { text: '<span foreground="white">© Jane Doe</span>', rgba: true, dpi: 600 } },
        gravity: 'southeast',
      },
    ])
    .jpeg({ quality: 90 })
    .toBuffer();

async function planesOf(bytes: Buffer): Promise<Planes> {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const { width, height } = info;
  const plane = (channel: number) => ({
    data: Float32Array.from(data).filter((_, at) => at % 3 === channel),
    width,
    height,
  });
  return [plane(0), plane(1), plane(2)];
}

/** Compares the image tools, including the download, with their libraries. The runs alternate, one at a time. */
export async function benchImages({ rounds, runs, ...widths }: Sizes['images']): Promise<ImageFigures> {
  const [watermark, upscale] = [await loadTool('watermark-image'), await loadTool('image-upscale')];
  const files = await startFiles();
  const large = await photograph(widths.large, (widths.large * 3) / 4);
  const small = await photograph(widths.small, (widths.small * 3) / 4);
  const [largeUrl, smallUrl] = [files.put({ bytes: large }), files.put({ bytes: small })];
  const stock = await openReference(2);
  const planes = await planesOf(small);
  const context = { egress: files.guard };
  const works = [
    {
      work: `watermark-image, JPEG of ${((widths.large ** 2 * 3) / 4 / 1e6).toFixed()} megapixels`,
      library: 'bare sharp',
      theirs: () => watermarkWithSharp(large),
      ours: () => watermark.call({ fileUrl: largeUrl, text: '© Jane Doe' }, context),
    },
    {
      work: `image-upscale, ${widths.small} x ${(widths.small * 3) / 4} at 2x`,
      library: 'upscaler',
      theirs: () => stock.run(planes),
      ours: () => upscale.call({ fileUrl: smallUrl, factor: 2 }, context),
    },
  ];
  try {
    const rows: ImageRow[] = [];
    for (const { work, library, theirs, ours } of works) {
      await ours();
      const times: [theirs: number, ours: number][] = [];
      for (let round = 0; round < rounds; round++)
        times.push([(await measure(1, 1, theirs)).p50, (await measure(runs, 1, ours)).p50]);
      const median = (of: 0 | 1) =>
        times.map((time) => time[of]).toSorted((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
      const [libraryMs, oursMs] = [median(0), median(1)];
      rows.push({ work, library, libraryMs, ours: oursMs, ratio: oursMs / libraryMs });
    }
    const tooLarge: ImageFigures['tooLarge'] = [];
    for (const [tool, body] of [
      ['watermark-image', { text: 'x' }],
      ['image-upscale', {}],
    ] as const) {
      const [cost] = await costsOf(tool, [makeTooLarge()], body);
      if (cost === undefined) throw new Error('the image was not measured');
      tooLarge.push({ tool, outcome: cost.outcome, ms: cost.ms, 'MB more': cost.growth / 1e6 });
    }
    return { rows, tooLarge };
  } finally {
    files.close();
  }
}
