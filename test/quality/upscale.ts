import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import sharp, { type KernelEnum } from 'sharp';
import type { DecodedImage } from '../../activities/images/decode.ts';
import { enlarge, type Plane } from '../../activities/upscale/lanczos.ts';
import { openOnnxNetwork } from '../../activities/upscale/network.ts';
import { FACTORS, type Factor, type Network } from '../../activities/upscale/networkTypes.ts';
import { upscale } from '../../activities/upscale/upscale.ts';
import { convertModel } from '../../dev/upscale/convert.ts';
import { MODEL } from '../../dev/upscale/packages.ts';
import { type Collection, fetchCollection, MODELS, middleOf, pictureOf } from './pictures.ts';
import { table } from './table.ts';

/**
 * Compares the luma PSNR of image-upscale with that of Lanczos interpolation alone, on the photographs and drawings of
 * scikit-image. The middle of each picture is reduced and enlarged again: large crops by the network that is chosen for
 * each factor, and small crops by all networks. Writes upscale.md beside this file; exits with 1 if Lanczos is better
 * in any case.
 */

const KERNELS = ['lanczos3', 'cubic', 'linear'] as const satisfies (keyof KernelEnum)[];
/**
 * Side in pixels of the crops for the chosen networks (SIDE), and of the reduced crops for all networks (REDUCED), some
 * of which are slow.
 */
const SIDE = 512;
const REDUCED = 64;
const OUTPUT_MEGAPIXELS = 16;

type Rgb = Pick<DecodedImage, 'data' | 'width' | 'height'>;

/** Returns the luma of a pixel, with the weights of ITU-R BT.601. */
const luma = ({ data }: Rgb, at: number): number =>
  0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);

function psnr(made: Rgb, wanted: Rgb): number {
  let sum = 0;
  for (let at = 0; at < wanted.data.length; at += 3) sum += (luma(made, at) - luma(wanted, at)) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / (wanted.data.length / 3)));
}

const planesOf = ({ data, width, height }: DecodedImage): [Plane, Plane, Plane] => {
  const plane = (channel: number) => ({
    data: Float32Array.from(data).filter((_, at) => at % 3 === channel),
    width,
    height,
  });
  return [plane(0), plane(1), plane(2)];
};

/** Joins three channels to an image, rounding as the tool does. */
function join(planes: readonly Plane[]): Rgb {
  const [{ width, height } = { width: 0, height: 0 }] = planes;
  const data = new Uint8Array(3 * width * height);
  for (const [channel, plane] of planes.entries())
    for (const [at, value] of plane.data.entries())
      data[3 * at + channel] = Math.min(255, Math.max(0, Math.round(value)));
  return { data, width, height };
}

interface Pair {
  small: DecodedImage;
  wanted: DecodedImage;
  /** PSNR of Lanczos interpolation alone. */
  plain: number;
}

async function pairOf(path: string, side: number, factor: Factor, kernel: keyof KernelEnum): Promise<Pair> {
  const original = await middleOf(path, side, factor);
  const wanted = await pictureOf(original);
  const reduced = sharp(original).resize(wanted.width / factor, wanted.height / factor, { kernel });
  const small = await pictureOf(await reduced.png().toBuffer());
  return { small, wanted, plain: psnr(join(planesOf(small).map((plane) => enlarge(plane, factor))), wanted) };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const signed = (value: number): string => `${value < 0 ? '' : '+'}${value.toFixed(3)}`;

/**
 * Returns the cells of a network's row: what it gains over Lanczos, alone and as the tool uses it, and the CPU time
 * that the largest allowed image would take.
 */
async function judge(network: Network, factor: Factor, pictures: readonly string[]): Promise<string[]> {
  const bare: number[] = [];
  const used: number[] = [];
  let [seconds, pixels] = [0, 0];
  for (const path of pictures) {
    const { small, wanted, plain } = await pairOf(path, REDUCED * factor, factor, 'lanczos3');
    const start = process.cpuUsage();
    const drawn = await network.run(planesOf(small));
    const { user, system } = process.cpuUsage(start);
    seconds += (user + system) / 1e6;
    pixels += small.width * small.height;
    bare.push(psnr(join(drawn), wanted) - plain);
    used.push(psnr(await upscale(small, factor, network), wanted) - plain);
  }
  const largest = (seconds / pixels) * (OUTPUT_MEGAPIXELS / factor ** 2) * 1e6;
  return [
    `${signed(mean(bare))}, ${bare.filter((gain) => gain < 0).length} below`,
    `${signed(mean(used))}, ${used.filter((gain) => gain < 0).length} below`,
    signed(Math.min(...used)),
    largest.toFixed(0),
  ];
}

async function compareModels({ pictures, modelPath }: Collection): Promise<string> {
  const rows: string[][] = [];
  for (const factor of FACTORS)
    for (const model of MODELS) {
      const network = await openOnnxNetwork(factor, convertModel(modelPath(model, factor)));
      const name = model === MODEL[factor] ? `**${model}**` : model;
      rows.push([`${factor}x`, name, ...(await judge(network, factor, pictures))]);
      console.log(rows.at(-1)?.join('  '));
    }
  const head = ['', 'network', 'bare, dB', 'as used by the tool, dB', 'worst, dB', 'largest source, CPU s'];
  return table(head, rows);
}

async function comparePictures(factor: Factor, { pictures, modelPath }: Collection) {
  const network = await openOnnxNetwork(factor, convertModel(modelPath(MODEL[factor], factor)));
  const gains: number[] = [];
  const rows: string[][] = [];
  for (const path of pictures) {
    const cells: string[] = [];
    for (const kernel of KERNELS) {
      const { small, wanted, plain } = await pairOf(path, SIDE, factor, kernel);
      const made = psnr(await upscale(small, factor, network), wanted);
      gains.push(made - plain);
      cells.push(`${made.toFixed(2)} (${signed(made - plain)})`);
    }
    rows.push([basename(path), ...cells]);
    console.log(`${factor}x  ${rows.at(-1)?.join('  ')}`);
  }
  return { gains, text: table(['', ...KERNELS], rows) };
}

using collection = fetchCollection();
const parts: string[] = [];
const gains: number[] = [];
for (const factor of FACTORS) {
  const found = await comparePictures(factor, collection);
  gains.push(...found.gains);
  parts.push(
    `## ${factor}x, esrgan-${MODEL[factor]}\n\nMean ${signed(mean(found.gains))} dB.\n\n${found.text}\n`,
  );
}
const models = await compareModels(collection);
const worse = gains.filter((gain) => gain < 0).length;
writeFileSync(
  new URL('./upscale.md', import.meta.url),
  `# image-upscale compared with Lanczos

Generated by \`npm run quality\`: luma PSNR on ${collection.pictures.length} photographs and drawings that scikit-image ships, reduced and
enlarged again. Results worse than Lanczos: ${worse} of ${gains.length}.

## The networks of UpscalerJS

Gain over Lanczos on parts of ${REDUCED} x ${REDUCED} pixels, as reduced by Lanczos; the last column is the CPU time of the
network for the largest source that the tool accepts, extrapolated from these parts. (Tiles of 384 pixels need less time per
pixel, but also borders as wide as the receptive field of the network: 10, 18 and 154 pixels.) Among the networks that
finish within the tool's 60 s on two cores, the tool uses the fastest one whose gain is within 0.1 dB of the best (bold).

${models}

${parts.join('\n')}`,
);
console.log(`worse than Lanczos: ${worse} of ${gains.length}`);
process.exitCode = worse === 0 ? 0 : 1;
