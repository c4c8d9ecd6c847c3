import { deepEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp, { type Sharp } from 'sharp';
import type { Browsers } from '../../activities/browser/pool.ts';
import { office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';
import { BAKERY, card, LETTER, RECEIPT, REPORT, SOCIAL_CARD, SUNSET } from './siteDrawings.ts';

const SITE = new URL('../../api/site/', import.meta.url);
/** Twice the size at which the pages show the pictures. */
const WIDTH = 960;
const HEIGHT = 540;
const PAGE_WIDTH = 700;
const PAGE_TOP = 40;
/** Two pages side by side, with the same space around and between them. */
const SMALL_PAGE_WIDTH = 351;
const PAGE_GAP = (WIDTH - 2 * SMALL_PAGE_WIDTH) / 3;
const WHITE = { create: { width: WIDTH, height: HEIGHT, channels: 3, background: '#ffffff' } } as const;

/** Stores the picture of a tool. */
type Save = (tool: string, picture: Sharp, lossless?: boolean) => Promise<void>;

const fileOf = (output: Record<string, unknown>, field = 'fileBase64'): Buffer =>
  Buffer.from(String(output[field]), 'base64');
const cover = (file: Buffer): Sharp => sharp(file).resize(WIDTH, HEIGHT, { fit: 'cover', position: 'top' });
const sunset = (width: number, height: number): Promise<Buffer> =>
  sharp(Buffer.from(SUNSET)).resize(width, height).removeAlpha().png().toBuffer();

/** Makes the pictures of tools that use Chromium. Returns the card for social networks. */
async function browserPictures(resource: Browsers, site: Site, icon: string, save: Save): Promise<Buffer> {
  const context = { egress: site.guard(), resource };
  const draw = await loadTool('html-to-image');
  const receipt = await draw.call({ html: card(RECEIPT), width: WIDTH, height: HEIGHT }, context);
  await save('html-to-image', cover(fileOf(receipt)));
  const social = await draw.call({ html: card(SOCIAL_CARD(icon)), width: 1200, height: 630 }, context);
  const capture = await loadTool('website-screenshot');
  const body = { url: `${site.origin}/`, width: 1440, height: 810 };
  await save('website-screenshot', cover(fileOf(await capture.call(body, context))));
  return sharp(fileOf(social)).png({ palette: true, quality: 90, effort: 10 }).toBuffer();
}

async function imagePictures(save: Save): Promise<void> {
  const files = await startFiles();
  try {
    const text = { text: '© Jane Doe 2026', position: 'bottom-right', opacity: 0.6 };
    const marked = await makeImage(
      await loadTool('watermark-image'),
      files,
      await sunset(WIDTH, HEIGHT),
      text,
    );
    await save('watermark-image', cover(marked));

    // The same part of the image before, on the left, and after.
    const small = await sunset(WIDTH / 4, HEIGHT / 4);
    const large = await makeImage(await loadTool('image-upscale'), files, small, { factor: 4 });
    const half = { width: WIDTH / 2 - 6, height: HEIGHT, fit: 'cover' } as const;
    const part = (scale: number) => ({
      left: 45 * scale,
      top: 85 * scale,
      width: 60 * scale,
      height: 50 * scale,
    });
    const [before, after] = await Promise.all([
      sharp(small)
        .extract(part(1))
        .resize({ ...half, kernel: 'nearest' })
        .toBuffer(),
      sharp(large).extract(part(4)).resize(half).toBuffer(),
    ]);
    const pair = [
      { input: before, left: 0, top: 0 },
      { input: after, left: WIDTH / 2 + 6, top: 0 },
    ];
    await save('image-upscale', sharp(WHITE).composite(pair));
  } finally {
    files.close();
  }
}

async function codePicture(save: Save): Promise<void> {
  const tool = await loadTool('qr-generate');
  const code = await tool.call({ text: 'https://example.com/menu', size: 440 });
  const input = fileOf(code, 'imageBase64');
  await save('qr-generate', sharp(WHITE).composite([{ input, gravity: 'centre' }]), true);
}

/** Renders a page of a PDF. @param width of the image in pixels */
async function drawPage(path: string, page: number, width: number): Promise<Sharp> {
  const image = `${path}-${page}`;
  const options = ['-r', '144', '-png', '-singlefile', '-f', `${page}`, '-l', `${page}`];
  await promisify(execFile)('pdftoppm', [...options, path, image]);
  return sharp(`${image}.png`).resize({ width });
}

/** The upper part of the page that word-to-pdf makes of a letter, and the PDF of the example of pdf-metadata. */
async function documentPictures(save: Save): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'site-pictures-'));
  const files = await startFiles();
  await using resource = await office.open({ env: readEnv({}), log: () => undefined });
  const convert = await loadTool('word-to-pdf');
  const ground = sharp({ create: { ...WHITE.create, background: '#dbe3ec' } });
  const makePdf = async (name: string, rtf: string): Promise<string> => {
    const fileUrl = files.put({ bytes: Buffer.from(rtf) }, `${name}.rtf`);
    const path = join(folder, name);
    writeFileSync(path, fileOf(await convert.call({ fileUrl }, { egress: files.guard, resource })));
    return path;
  };
  try {
    const letter = await drawPage(await makePdf('letter', LETTER), 1, PAGE_WIDTH);
    const height = HEIGHT - PAGE_TOP;
    const input = await letter.extract({ left: 0, top: 0, width: PAGE_WIDTH, height }).toBuffer();
    const left = (WIDTH - PAGE_WIDTH) / 2;
    await save('word-to-pdf', ground.clone().composite([{ input, left, top: PAGE_TOP }]));

    const report = await makePdf('report', REPORT);
    const read = await loadTool('pdf-metadata');
    const fileUrl = files.put({ bytes: readFileSync(report) }, 'report.pdf');
    const shown = read.definition.examples[0]?.output;
    deepEqual(await read.call({ fileUrl }, { egress: files.guard }), shown);
    const pages = [1, 2].map(async (page, index) => ({
      input: await (await drawPage(report, page, SMALL_PAGE_WIDTH)).toBuffer(),
      left: PAGE_GAP + index * (SMALL_PAGE_WIDTH + PAGE_GAP),
      top: PAGE_TOP,
    }));
    await save('pdf-metadata', ground.clone().composite(await Promise.all(pages)));
  } finally {
    files.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns an ICO file with one PNG of 32 by 32 pixels. */
async function iconOf(icon: string): Promise<Buffer> {
  const png = await sharp(Buffer.from(icon), { density: 144 })
    .resize(32, 32)
    .png({ palette: true })
    .toBuffer();
  const header = Buffer.alloc(22);
  header.writeUInt16LE(1, 2); // an icon
  header.writeUInt16LE(1, 4); // one image
  header.writeUInt8(32, 6);
  header.writeUInt8(32, 7);
  header.writeUInt16LE(1, 10); // colour planes
  header.writeUInt16LE(32, 12); // bits per pixel
  header.writeUInt32LE(png.length, 14);
  header.writeUInt32LE(header.length, 18);
  return Buffer.concat([header, png]);
}

/**
 * Makes the pictures of the landing page and of the tools' pages with the tools themselves, and the icon in ICO form.
 *
 * @param to folder of the files, with the folder `pictures`
 */
export async function makeSitePictures(to: URL): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const save: Save = async (tool, picture, lossless = false) =>
    writeFileSync(
      new URL(`pictures/${tool}.webp`, to),
      await picture.webp({ quality: 83, lossless }).toBuffer(),
    );
  const icon = readFileSync(new URL('favicon.svg', SITE), 'utf8');
  writeFileSync(new URL('favicon.ico', to), await iconOf(icon));
  await codePicture(save);
  await imagePictures(save);
  await documentPictures(save);
  const browsers = owned.use(await openBrowsers());
  const site = owned.adopt(await startSite({ '/': BAKERY }), (it) => it.close());
  writeFileSync(new URL('social-card.png', to), await browserPictures(browsers, site, icon, save));
}

if (import.meta.main) {
  await makeSitePictures(SITE);
  // The processes of the decoders end with this one.
  process.exit();
}
