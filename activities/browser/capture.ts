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

/** Limits of one capture. */
export const CEILING_CSS_PIXELS = 16_384;
const CEILING_PIXELS = 100_000_000;
/**
 * Device pixels of one tile. Beyond 8,192 rows Chromium silently repeats or loses parts of the page; each tile is sent as
 * one message.
 */
const TILE_HEIGHT = 4_000;
const TILE_PIXELS = 12_000_000;

/** Part of the page, in CSS pixels from the top left corner of its content. */
interface Tile {
  x: number;
  y: number;
  height: number;
}

/** Splits a height into tiles of whole device pixels, none of them `avoided` CSS pixels high. */
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

/** Captured height of a page in CSS pixels. */
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
  // Several tiles are joined and encoded again, so only a single one is captured as JPEG. `optimizeForSpeed` encodes PNG in a
  // third of the time into files half as large again.
  const encoding =
    only && options.format === 'jpeg'
      ? { format: 'jpeg' as const, quality: options.quality }
      : { format: 'png' as const, optimizeForSpeed: true };
  // The viewport is already painted; a clip beyond it is painted again.
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
  // libvips streams the tiles from top to bottom without decoding one as a whole.
  const joined = sharp([...tiles], { join: { across: 1 }, limitInputPixels: false });
  const { width } = await sharp(tiles[0]).metadata();
  // libvips pads every tile to the height of the highest; the last one may be lower.
  const whole = joined.extract({ left: 0, top: 0, width, height });
  return format === 'jpeg'
    ? whole.flatten({ background: 'white' }).jpeg({ quality }).toBuffer()
    : whole.png({ compressionLevel: 6 }).toBuffer();
}

/** Captures a page at the size of its viewport. */
export async function capture(client: CDPSession, options: CaptureOptions): Promise<Capture> {
  const metrics = await client.send('Page.getLayoutMetrics');
  const { cssContentSize, cssLayoutViewport, cssVisualViewport } = metrics;
  const wanted = options.fullPage ? Math.max(1, Math.ceil(cssContentSize.height)) : options.height;
  const height = clipHeight(wanted, options.width, options.deviceScaleFactor);
  // `clip` counts from the left edge of the content, the scroll position from the start of the page. They differ on
  // right-to-left pages that are wider than the viewport.
  const start = Math.round(cssLayoutViewport.pageX - cssVisualViewport.pageX);
  const left = options.fullPage ? start : cssLayoutViewport.pageX;
  const top = options.fullPage ? 0 : cssLayoutViewport.pageY;
  // On such a page Chromium captures another part when the clip has the size of the viewport.
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
