import { type Device, KnownDevices } from 'puppeteer';
import type { DEVICES } from '../../schemas/formats/devices.ts';
import type { RenderPage } from './pool.ts';

/** The viewport, device and media preferences that are emulated for a page. */
export interface Emulation {
  /** Size of the viewport in CSS pixels. */
  width: number;
  height: number;
  deviceScaleFactor: number;
  /** Name of an emulated device. Its viewport size and scale factor replace those above. */
  device?: (typeof DEVICES)[number] | undefined;
  /** User agent to send instead of that of the browser or the device. */
  userAgent?: string | undefined;
  colorScheme?: 'light' | 'dark' | undefined;
  reducedMotion: boolean;
  omitBackground: boolean;
}

/** Size in CSS pixels. `deviceScaleFactor` is the number of device pixels per CSS pixel. */
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

/** Returns the media features that the options set, as the DevTools protocol names them. */
export const featuresOf = ({
  colorScheme,
  reducedMotion,
}: Pick<Emulation, 'colorScheme' | 'reducedMotion'>) => [
  ...(colorScheme === undefined ? [] : [{ name: 'prefers-color-scheme', value: colorScheme }]),
  ...(reducedMotion ? [{ name: 'prefers-reduced-motion', value: 'reduce' }] : []),
];

/** Applies the emulation options to a page before its document is loaded. */
export async function emulate(
  { page, client }: Pick<RenderPage, 'page' | 'client'>,
  options: Emulation,
  { width, height, deviceScaleFactor }: Viewport,
): Promise<void> {
  const device = deviceOf(options);
  const { isMobile = false, hasTouch = false } = device?.viewport ?? {};
  // Sent in the DevTools session that also captures, because the scale factor applies only to captures of that session.
  await client.send('Emulation.setDeviceMetricsOverride', {
    width,
    height,
    deviceScaleFactor,
    mobile: isMobile,
    // The media feature `device-width`, which old style sheets use, reads the width of the screen.
    screenWidth: width,
    screenHeight: height,
  });
  if (hasTouch) await client.send('Emulation.setTouchEmulationEnabled', { enabled: true });
  const userAgent = options.userAgent ?? device?.userAgent;
  if (userAgent !== undefined) await page.setUserAgent({ userAgent });
  const features = featuresOf(options);
  if (features.length > 0) await client.send('Emulation.setEmulatedMedia', { features });
  if (options.omitBackground)
    await client.send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } });
}
