import type { CDPSession } from 'puppeteer';
import sharp from 'sharp';
import type { Box } from './page/selected.ts';

export interface CaptureOptions {
  /** Size of the viewport in CSS pixels. */
  width: number;
  height: number;
  fullPage: boolean;
  deviceScaleFactor: number;
  format: 'png' | 'jpeg' | 'webp';
  quality: number;
  /** Captures only this box. Its position is relative to the viewport, and it may extend beyond the viewport. */
  box?: Box | undefined;
}

export interface Capture {
  file: Buffer;
  width: number;
  height: number;
  truncated: boolean;
}

/** Largest width and height of a capture in CSS pixels, and its largest number of device pixels. */
export const CEILING_CSS_PIXELS = 16_384;
const CEILING_PIXELS = 100_000_000;
/** Largest width and height of a WebP image in pixels; its VP8 header stores them in 14 bits. */
const WEBP_PIXELS = 16_383;
/**
 * Largest height and number of device pixels of one tile. In a capture of more than 8,192 rows Chromium silently
 * repeats or omits parts of the page, and each tile must fit into one DevTools message.
 */
const TILE_HEIGHT = 4_000;
const TILE_PIXELS = 12_000_000;

/** A part of the page to capture, in CSS pixels from the top left corner of the page's content. */
interface Tile {
  x: number;
  y: number;
  height: number;
}

/** Splits a page height into tiles that begin at whole device pixels. No tile is `avoided` CSS pixels high. */
function cutTiles(width: number, height: number, scale: number, avoided: number | null): Omit<Tile, 'x'>[] {
  const cut = (most: number) =>
    Array.from({ length: Math.ceil(height / most) }, (_, index) => ({
      y: index * most,
      height: Math.min(most, height - index * most),
    }));
  const fitting = Math.max(1, Math.floor(Math.min(TILE_HEIGHT, TILE_PIXELS / (width * scale)) / scale));
  // The scale factors of emulated devices are multiples of 1/8, so 8 CSS pixels are a whole number of device pixels.
  const most = Number.isInteger(scale) || fitting < 8 ? fitting : fitting - (fitting % 8);
  const tiles = cut(most);
  return tiles.some((tile) => tile.height === avoided) ? cut(Math.min(most, height) - 1) : tiles;
}

/** Returns the height in CSS pixels of the part of a page that is captured, after all limits. */
function clipHeight(wanted: number, width: number, scale: number, format: CaptureOptions['format']): number {
  const formatCeiling = format === 'webp' ? Math.floor(WEBP_PIXELS / scale) : CEILING_CSS_PIXELS;
  return Math.max(
    1,
    Math.min(wanted, CEILING_CSS_PIXELS, formatCeiling, Math.floor(CEILING_PIXELS / (width * scale * scale))),
  );
}

async function captureTile(
  client: CDPSession,
  options: CaptureOptions,
  tile: Tile,
  only: boolean,
): Promise<Buffer> {
  // Several tiles are joined and encoded again, so only a single tile is captured as JPEG or WebP. `optimizeForSpeed`
  // takes a third of the time to encode a PNG, and the file is 1.5 times as large.
  const encoding =
    only && options.format !== 'png'
      ? { format: options.format, quality: options.quality }
      : { format: 'png' as const, optimizeForSpeed: true };
  // Without a clip, Chromium captures the viewport as already painted. With a clip, it paints that part again.
  const part =
    only && !options.fullPage && options.box === undefined
      ? {}
      : {
          clip: { ...tile, width: options.width, scale: 1 },
          captureBeyondViewport: true,
        };
  const { data } = await client.send('Page.captureScreenshot', { ...encoding, ...part });
  return Buffer.from(data, 'base64');
}

async function join(tiles: readonly Buffer[], { format, quality }: CaptureOptions): Promise<Buffer> {
  // libvips streams the tiles from top to bottom and never holds a whole decoded tile in memory.
  const joined = sharp([...tiles], { join: { across: 1 }, limitInputPixels: false });
  const sizes = await Promise.all(tiles.map((tile) => sharp(tile).metadata()));
  const width = sizes[0]?.width ?? 1;
  const height = sizes.reduce((sum, size) => sum + size.height, 0);
  // libvips pads every tile to the height of the highest one. The last tile may be lower, so its padding is cut off.
  const whole = joined.extract({ left: 0, top: 0, width, height });
  if (format === 'webp') return whole.webp({ quality }).toBuffer();
  return format === 'jpeg'
    ? whole.flatten({ background: 'white' }).jpeg({ quality }).toBuffer()
    : whole.png({ compressionLevel: 6 }).toBuffer();
}

/** Captures the viewport, the whole page (`fullPage`), or the given box. */
export async function capture(client: CDPSession, options: CaptureOptions): Promise<Capture> {
  const metrics = await client.send('Page.getLayoutMetrics');
  const { cssContentSize, cssLayoutViewport, cssVisualViewport } = metrics;
  const { box } = options;
  const page = options.fullPage ? Math.max(1, Math.ceil(cssContentSize.height)) : options.height;
  const wanted = box?.height ?? page;
  const width = Math.min(box?.width ?? options.width, CEILING_CSS_PIXELS);
  const height = clipHeight(wanted, width, options.deviceScaleFactor, options.format);
  // The x coordinate of a clip is 0 at the left edge of the content. A scroll position is 0 where the browser initially
  // shows the page: on a right-to-left page that is wider than the viewport, at the right edge.
  const start = Math.round(cssLayoutViewport.pageX - cssVisualViewport.pageX);
  const whole = options.fullPage && box === undefined;
  const left = whole ? start : cssLayoutViewport.pageX + (box?.x ?? 0);
  const top = whole ? 0 : cssLayoutViewport.pageY + (box?.y ?? 0);
  // On a right-to-left page wider than the viewport, Chromium captures a wrong part of the page if the clip is exactly
  // as high as the viewport.
  const avoided = whole && start > 0 ? cssLayoutViewport.clientHeight : null;
  const tiles = cutTiles(width, height, options.deviceScaleFactor, avoided);
  const parts: Buffer[] = [];
  for (const tile of tiles)
    parts.push(
      await captureTile(
        client,
        { ...options, width },
        { ...tile, x: left, y: top + tile.y },
        tiles.length === 1,
      ),
    );
  const [first] = parts;
  const file = first !== undefined && parts.length === 1 ? first : await join(parts, options);
  const metadata = await sharp(file).metadata();
  return {
    file,
    width: metadata.width,
    height: metadata.height,
    truncated: wanted > height || (box?.width ?? 0) > width,
  };
}
