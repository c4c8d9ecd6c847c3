import type { CDPSession } from 'puppeteer';
import sharp from 'sharp';

export interface CaptureOptions {
  /** CSS pixels. */
  width: number;
  height: number;
  fullPage: boolean;
  deviceScaleFactor: number;
  format: 'png' | 'jpeg';
  quality: number;
}

export interface Capture {
  file: Buffer;
  width: number;
  height: number;
  truncated: boolean;
}

/** Ceilings of one picture. */
export const CEILING_CSS_PIXELS = 16_384;
const CEILING_PIXELS = 100_000_000;
/**
 * Device pixels of one tile: beyond 8,192 a row Chromium repeats or loses parts without a word, and a tile travels as
 * one message.
 */
const TILE_HEIGHT = 4_000;
const TILE_PIXELS = 12_000_000;

/** Part of the page, in CSS pixels from the upper left corner of all it holds. */
interface Tile {
  x: number;
  y: number;
  height: number;
}

/** Cuts a height into tiles of whole device pixels, from its top, none of them `avoided` CSS pixels high. */
function cutTiles(width: number, height: number, scale: number, avoided: number | null): Omit<Tile, 'x'>[] {
  const cut = (most: number) =>
    Array.from({ length: Math.ceil(height / most) }, (_, index) => ({
      y: index * most,
      height: Math.min(most, height - index * most),
    }));
  const most = Math.max(1, Math.floor(Math.min(TILE_HEIGHT, TILE_PIXELS / (width * scale)) / scale));
  const tiles = cut(most);
  return tiles.some((tile) => tile.height === avoided) ? cut(Math.min(most, height) - 1) : tiles;
}

/** How much of a page is captured. */
function clipHeight(wanted: number, width: number, scale: number): number {
  return Math.max(
    1,
    Math.min(wanted, CEILING_CSS_PIXELS, Math.floor(CEILING_PIXELS / (width * scale * scale))),
  );
}

async function captureTile(
  client: CDPSession,
  options: CaptureOptions,
  tile: Tile,
  only: boolean,
): Promise<Buffer> {
  // What is joined is encoded once more anyway, and only then in the caller's format. For speed: PNG in a third of the time,
  // and half as large again; who wants it small takes JPEG.
  const encoding =
    only && options.format === 'jpeg'
      ? { format: 'jpeg' as const, quality: options.quality }
      : { format: 'png' as const, optimizeForSpeed: true };
  // What the window shows is there: anything else is drawn anew.
  const part =
    only && !options.fullPage
      ? {}
      : {
          clip: { ...tile, width: options.width, scale: 1 },
          captureBeyondViewport: true,
        };
  const { data } = await client.send('Page.captureScreenshot', { ...encoding, ...part });
  return Buffer.from(data, 'base64');
}

async function join(
  tiles: readonly Buffer[],
  height: number,
  { format, quality }: CaptureOptions,
): Promise<Buffer> {
  // libvips reads the tiles from top to bottom and decodes none as a whole.
  const joined = sharp([...tiles], { join: { across: 1 }, limitInputPixels: false });
  const { width } = await sharp(tiles[0]).metadata();
  // Every tile gets the height of the highest, which the last one does not have.
  const whole = joined.extract({ left: 0, top: 0, width, height });
  return format === 'jpeg'
    ? whole.flatten({ background: 'white' }).jpeg({ quality }).toBuffer()
    : whole.png({ compressionLevel: 6 }).toBuffer();
}

/** Takes the picture of a page at the size that its viewport was set to. */
export async function capture(client: CDPSession, options: CaptureOptions): Promise<Capture> {
  const metrics = await client.send('Page.getLayoutMetrics');
  const { cssContentSize, cssLayoutViewport, cssVisualViewport } = metrics;
  const wanted = options.fullPage ? Math.max(1, Math.ceil(cssContentSize.height)) : options.height;
  const height = clipHeight(wanted, options.width, options.deviceScaleFactor);
  // The one counts from the left of all there is, the other from where the page begins: to the right of that where it is
  // written from right to left and is wider than the window.
  const start = Math.round(cssLayoutViewport.pageX - cssVisualViewport.pageX);
  const left = options.fullPage ? start : cssLayoutViewport.pageX;
  const top = options.fullPage ? 0 : cssLayoutViewport.pageY;
  // Of such a page Chromium draws another part when the clip is as large as its window.
  const avoided = options.fullPage && start > 0 ? cssLayoutViewport.clientHeight : null;
  const tiles = cutTiles(options.width, height, options.deviceScaleFactor, avoided);
  const parts: Buffer[] = [];
  for (const tile of tiles)
    parts.push(await captureTile(client, options, { ...tile, x: left, y: top + tile.y }, tiles.length === 1));
  const [first] = parts;
  const file =
    first !== undefined && parts.length === 1
      ? first
      : await join(parts, height * options.deviceScaleFactor, options);
  const metadata = await sharp(file).metadata();
  return { file, width: metadata.width, height: metadata.height, truncated: wanted > height };
}
