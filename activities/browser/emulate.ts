import { type Device, KnownDevices } from 'puppeteer';
import type { DEVICES } from '../../schemas/formats/devices.ts';
import type { RenderPage } from './pool.ts';

/** The window and the preferences that a page is given. */
export interface Emulation {
  /** CSS pixels. */
  width: number;
  height: number;
  deviceScaleFactor: number;
  /** Replaces the size and scale factor. */
  device?: (typeof DEVICES)[number] | undefined;
  /** Replaces the user agent of the browser and of the device. */
  userAgent?: string | undefined;
  colorScheme?: 'light' | 'dark' | undefined;
  reducedMotion: boolean;
  omitBackground: boolean;
}

/** Size in CSS pixels, and device pixels per CSS pixel. */
export interface Viewport {
  width: number;
  height: number;
  deviceScaleFactor: number;
}

const deviceOf = ({ device }: Pick<Emulation, 'device'>): Device | null =>
  device === undefined ? null : KnownDevices[device];

export function viewportOf(options: Emulation): Viewport {
  const { width, height, deviceScaleFactor = 1 } = deviceOf(options)?.viewport ?? options;
  return { width, height, deviceScaleFactor };
}

/** Applies the options to an empty page. */
export async function emulate(
  { page, client }: Pick<RenderPage, 'page' | 'client'>,
  options: Emulation,
  { width, height, deviceScaleFactor }: Viewport,
): Promise<void> {
  const device = deviceOf(options);
  const { isMobile = false, hasTouch = false } = device?.viewport ?? {};
  // Set in the session that captures: the scale factor applies to that session only.
  await client.send('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor,
    mobile: isMobile,
    // Old style sheets query `device-width`.
    screenWidth: width,
    screenHeight: height,
  });
  if (hasTouch) await client.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const userAgent = options.userAgent ?? device?.userAgent;
  if (userAgent !== undefined) await page.setUserAgent({ userAgent });
  const features = [
    ...(options.colorScheme === undefined
      ? []
      : [{ name: 'prefers-color-scheme', value: options.colorScheme }]),
    ...(options.reducedMotion ? [{ name: 'prefers-reduced-motion', value: 'reduce' }] : []),
  ];
  if (features.length > 0) await client.send('Emulation.setEmulatedMedia', { features });
  if (options.omitBackground)
    await client.send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
}
