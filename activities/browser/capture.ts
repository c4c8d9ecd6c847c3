import type { CDPSession } from 'puppeteer';
import sharp from 'sharp';
import type { Box } from './page/selected.ts';
import { tryFor } from './tryFor.ts';

export interface CaptureOptions {
  /** Size of the viewport in CSS pixels. With `fullPage`, the width is that of the page. */
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
 * Largest height, width and number of device pixels of one tile. In a capture of more than 8,192 rows or columns Chromium
 * silently repeats or omits parts of the page, and each tile must fit into one DevTools message.
 */
const TILE_HEIGHT = 4_000;
const TILE_WIDTH = 8_000;
const TILE_PIXELS = 12_000_000;
/** Time after which the capture of a tile is tried again: Chromium does not answer if the page was replaced meanwhile. */
const TILE_MS = 10_000;

/** A part of the page to capture, in CSS pixels from the top left corner of the page's content. */
interface Tile {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Splits a length into parts of at most `most`. */
const cut = (length: number, most: number): { start: number; length: number }[] =>
  Array.from({ length: Math.ceil(length / most) }, (_, index) => ({
    start: index * most,
    length: Math.min(most, length - index * most),
  }));

/**
 * Splits a part of a page into tiles that begin at whole device pixels, row by row.
 *
 * @param avoided height in CSS pixels that no tile has
 */
function cutTiles(width: number, height: number, scale: number, avoided: number | null): Tile[] {
  // The scale factors of emulated devices are multiples of 1/8, so 8 CSS pixels are a whole number of device pixels.
  const align = (most: number) => (Number.isInteger(scale) || most < 8 ? most : most - (most % 8));
  const columns = cut(width, align(Math.floor(TILE_WIDTH / scale)));
  const widest = columns[0]?.length ?? width;
  const most = align(Math.max(1, Math.floor(Math.min(TILE_HEIGHT, TILE_PIXELS / (widest * scale)) / scale)));
  const even = cut(height, most);
  const rows = even.some((row) => row.length === avoided) ? cut(height, Math.min(most, height) - 1) : even;
  return rows.flatMap((row) =>
    columns.map((column) => ({ x: column.start, y: row.start, width: column.length, height: row.length })),
  );
}

/** Returns the largest width and height of a capture in CSS pixels. */
const ceilingOf = ({ format, deviceScaleFactor }: CaptureOptions): number =>
  Math.min(CEILING_CSS_PIXELS, format === 'webp' ? Math.floor(WEBP_PIXELS / deviceScaleFactor) : Infinity);

/** Returns the height in CSS pixels of the part of a page that is captured, after all limits. */
const clipHeight = (wanted: number, width: number, options: CaptureOptions): number =>
  Math.max(
    1,
    Math.min(
      wanted,
      ceilingOf(options),
      Math.floor(CEILING_PIXELS / (width * options.deviceScaleFactor ** 2)),
    ),
  );

/**
 * Whether the capture can extend beyond the viewport. Chromium then changes its size for a moment: an element around a box that scrolls
 * could show another part, so this is not done for a box within the viewport.
 */
export const isBeyondViewport = ({
  box,
  fullPage,
  width,
  height,
}: Pick<CaptureOptions, 'box' | 'fullPage' | 'width' | 'height'>): boolean =>
  box === undefined
    ? fullPage
    : box.x < 0 || box.y < 0 || box.x + box.width > width || box.y + box.height > height;

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
          clip: { ...tile, scale: 1 },
          captureBeyondViewport: isBeyondViewport(options),
        };
  const take = () => client.send('Page.captureScreenshot', { ...encoding, ...part });
  const { data } = (await tryFor(take(), TILE_MS)) ?? (await take());
  return Buffer.from(data, 'base64');
}

async function join(
  tiles: readonly Buffer[],
  columns: number,
  { format, quality }: CaptureOptions,
): Promise<Buffer> {
  // libvips streams the tiles from top to bottom and never holds a whole decoded tile in memory.
  const joined = sharp([...tiles], { join: { across: columns }, limitInputPixels: false });
  const sizes = await Promise.all(tiles.map((tile) => sharp(tile).metadata()));
  const width = sizes.slice(0, columns).reduce((sum, size) => sum + size.width, 0);
  const height = sizes.reduce((sum, size, index) => (index % columns === 0 ? sum + size.height : sum), 0);
  // libvips pads every tile to the size of the largest one. The last tiles may be smaller, so their padding is cut off.
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
  const width = Math.min(box?.width ?? options.width, ceilingOf(options));
  const height = clipHeight(wanted, width, options);
  // The x coordinate of a clip is 0 at the left edge of the content. A scroll position is 0 where the browser initially
  // shows the page: on a right-to-left page that is wider than the viewport, at the right edge.
  const shown = Math.round(cssLayoutViewport.pageX - cssVisualViewport.pageX);
  const start = Math.min(shown, Math.max(0, Math.ceil(cssContentSize.width) - options.width));
  const whole = options.fullPage && box === undefined;
  const left = whole ? start : cssLayoutViewport.pageX + (box?.x ?? 0);
  const top = whole ? 0 : cssLayoutViewport.pageY + (box?.y ?? 0);
  // On a right-to-left page wider than the viewport, Chromium captures a wrong part of the page if the clip is exactly
  // as high as the viewport.
  const avoided = whole && start > 0 ? cssLayoutViewport.clientHeight : null;
  const tiles = cutTiles(width, height, options.deviceScaleFactor, avoided);
  const parts: Buffer[] = [];
  for (const { x, y, ...size } of tiles)
    parts.push(await captureTile(client, options, { x: left + x, y: top + y, ...size }, tiles.length === 1));
  const [first] = parts;
  const file =
    first !== undefined && parts.length === 1
      ? first
      : await join(parts, tiles.filter(({ y }) => y === 0).length, options);
  const metadata = await sharp(file).metadata();
  return {
    file,
    width: metadata.width,
    height: metadata.height,
    truncated: wanted > height || (box?.width ?? options.width) > width,
  };
}
