import {
  BinaryBitmap,
  DecodeHintType,
  HybridBinarizer,
  QRCodeReader,
  RGBLuminanceSource,
} from '@zxing/library';
import jsQrModule from 'jsqr';
import { PNG } from 'pngjs';

/** A greyscale image; a pixel is 0 for black to 255 for white. */
interface GreyImage {
  width: number;
  height: number;
  /** One byte per pixel. */
  pixels: Uint8ClampedArray<ArrayBuffer>;
  /** The same pixels as RGBA, four bytes per pixel. */
  rgba: Uint8ClampedArray<ArrayBuffer>;
}

export function readPng(base64: string): GreyImage {
  const { width, height, data } = PNG.sync.read(Buffer.from(base64, 'base64'));
  const pixels = new Uint8ClampedArray(width * height);
  for (let i = 0; i < pixels.length; i++) pixels[i] = data[4 * i] ?? 0;
  return { width, height, pixels, rgba: new Uint8ClampedArray(data) };
}

/** Finds and decodes a QR code with jsQR. Returns null if there is none that it can read. */
export const readWithJsQr = ({ width, height, rgba }: GreyImage): string | null =>
  jsQrModule.default(rgba, width, height, { inversionAttempts: 'dontInvert' })?.data ?? null;

/** Decodes an upright, undistorted QR code with ZXing. @throws if it cannot be read */
export function readWithZxing({ width, height, pixels }: GreyImage): string {
  const bitmap = new BinaryBitmap(new HybridBinarizer(new RGBLuminanceSource(pixels, width, height)));
  return new QRCodeReader().decode(bitmap, new Map([[DecodeHintType.PURE_BARCODE, true]])).getText();
}

/** Returns the first and last columns and rows that contain dark pixels. */
export function darkBounds({
  width,
  height,
  pixels,
}: GreyImage): Record<'left' | 'right' | 'top' | 'bottom', number> {
  const bounds = { left: width, right: -1, top: height, bottom: -1 };
  pixels.forEach((value, i) => {
    if (value === 255) return;
    const [x, y] = [i % width, Math.floor(i / width)];
    bounds.left = Math.min(bounds.left, x);
    bounds.right = Math.max(bounds.right, x);
    bounds.top = Math.min(bounds.top, y);
    bounds.bottom = Math.max(bounds.bottom, y);
  });
  return bounds;
}
