import type { CDPSession } from 'puppeteer';
import sharp from 'sharp';
import type { Box } from './page/selected.ts';

export interface CaptureOptions {
  /** CSS pixels. */
  width: number;
  height: number;
  fullPage: boolean;
  deviceScaleFactor: number;
  format: 'png' | 'jpeg' | 'webp';
  quality: number;
  /** Captures only this part of the window, which may extend beyond it. */
  box?: Box | undefined;
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
/** Largest side of a WebP image (its VP8 header has 14 bits). */
const WEBP_PIXELS = 16_383;
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
  const fitting = Math.max(1, Math.floor(Math.min(TILE_HEIGHT, TILE_PIXELS / (width * scale)) / scale));
  // Scale factors of devices are multiples of an eighth.
  const most = Number.isInteger(scale) || fitting < 8 ? fitting : fitting - (fitting % 8);
  const tiles = cut(most);
  return tiles.some((tile) => tile.height === avoided) ? cut(Math.min(most, height) - 1) : tiles;
}

/** Captured height of a page in CSS pixels. */
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
  // Several tiles are joined and encoded again, so only a single one is captured as JPEG or WebP. `optimizeForSpeed` encodes PNG in a
  // third of the time into files half as large again.
  const encoding =
    only && options.format !== 'png'
      ? { format: options.format, quality: options.quality }
      : { format: 'png' as const, optimizeForSpeed: true };
  // The viewport is already painted; a clip beyond it is painted again.
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
  // libvips streams the tiles from top to bottom without decoding one as a whole.
  const joined = sharp([...tiles], { join: { across: 1 }, limitInputPixels: false });
  const sizes = await Promise.all(tiles.map((tile) => sharp(tile).metadata()));
  const width = sizes[0]?.width ?? 1;
  const height = sizes.reduce((sum, size) => sum + size.height, 0);
  // libvips pads every tile to the height of the highest; the last one may be lower.
  const whole = joined.extract({ left: 0, top: 0, width, height });
  if (format === 'webp') return whole.webp({ quality }).toBuffer();
  return format === 'jpeg'
    ? whole.flatten({ background: 'white' }).jpeg({ quality }).toBuffer()
    : whole.png({ compressionLevel: 6 }).toBuffer();
}

/** Captures a page at the size of its viewport, or a part of it. */
export async function capture(client: CDPSession, options: CaptureOptions): Promise<Capture> {
  const metrics = await client.send('Page.getLayoutMetrics');
  const { cssContentSize, cssLayoutViewport, cssVisualViewport } = metrics;
  const { box } = options;
  const page = options.fullPage ? Math.max(1, Math.ceil(cssContentSize.height)) : options.height;
  const wanted = box?.height ?? page;
  const width = Math.min(box?.width ?? options.width, CEILING_CSS_PIXELS);
  const height = clipHeight(wanted, width, options.deviceScaleFactor, options.format);
  // `clip` counts from the left edge of the content, the scroll position from the start of the page. They differ on
  // right-to-left pages that are wider than the viewport.
  const start = Math.round(cssLayoutViewport.pageX - cssVisualViewport.pageX);
  const whole = options.fullPage && box === undefined;
  const left = whole ? start : cssLayoutViewport.pageX + (box?.x ?? 0);
  const top = whole ? 0 : cssLayoutViewport.pageY + (box?.y ?? 0);
  // On such a page Chromium captures another part when the clip has the size of the viewport.
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
