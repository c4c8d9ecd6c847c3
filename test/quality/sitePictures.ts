import { readFileSync, writeFileSync } from 'node:fs';
import sharp, { type Sharp } from 'sharp';
import type { Browsers } from '../../activities/browser/pool.ts';
import { openBrowsers, type Site, startSite } from '../helpers/browser.ts';
import { makeImage, startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';
import { BAKERY, card, RECEIPT, SOCIAL_CARD, SUNSET } from './siteDrawings.ts';

/** Makes the pictures of the landing page and of the tools' pages with the tools themselves, and the icon in ICO form. */

const SITE = new URL('../../api/site/', import.meta.url);
/** Twice the size at which the pages show the pictures. */
const WIDTH = 960;
const HEIGHT = 540;
const WHITE = { create: { width: WIDTH, height: HEIGHT, channels: 3, background: '#ffffff' } } as const;

const save = async (tool: string, picture: Sharp, lossless = false): Promise<void> =>
  writeFileSync(
    new URL(`pictures/${tool}.webp`, SITE),
    await picture.webp({ quality: 83, lossless }).toBuffer(),
  );
const fileOf = (output: Record<string, unknown>, field = 'fileBase64'): Buffer =>
  Buffer.from(String(output[field]), 'base64');
const cover = (file: Buffer): Sharp => sharp(file).resize(WIDTH, HEIGHT, { fit: 'cover', position: 'top' });
const sunset = (width: number, height: number): Promise<Buffer> =>
  sharp(Buffer.from(SUNSET)).resize(width, height).removeAlpha().png().toBuffer();

async function browserPictures(resource: Browsers, site: Site, icon: string): Promise<void> {
  const context = { egress: site.guard(), resource };
  const draw = await loadTool('html-to-image');
  const receipt = await draw.call({ html: card(RECEIPT), width: WIDTH, height: HEIGHT }, context);
  await save('html-to-image', cover(fileOf(receipt)));
  const social = await draw.call({ html: card(SOCIAL_CARD(icon)), width: 1200, height: 630 }, context);
  const png = await sharp(fileOf(social)).png({ palette: true, quality: 90, effort: 10 }).toBuffer();
  writeFileSync(new URL('social-card.png', SITE), png);
  const capture = await loadTool('website-screenshot');
  const body = { url: `${site.origin}/`, width: 1440, height: 810 };
  await save('website-screenshot', cover(fileOf(await capture.call(body, context))));
}

async function imagePictures(): Promise<void> {
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

async function codePicture(): Promise<void> {
  const tool = await loadTool('qr-generate');
  const code = await tool.call({ text: 'https://example.com/menu', size: 440 });
  const input = fileOf(code, 'imageBase64');
  await save('qr-generate', sharp(WHITE).composite([{ input, gravity: 'centre' }]), true);
}

/** An ICO file with one PNG of 32 by 32 pixels. */
async function writeIcon(icon: string): Promise<void> {
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
  writeFileSync(new URL('favicon.ico', SITE), Buffer.concat([header, png]));
}

const icon = readFileSync(new URL('favicon.svg', SITE), 'utf8');
await writeIcon(icon);
await codePicture();
await imagePictures();
{
  await using browsers = await openBrowsers();
  const site = await startSite({ '/': BAKERY });
  try {
    await browserPictures(browsers, site, icon);
  } finally {
    site.close();
  }
}
// The processes of the decoders end with this one.
process.exit();
