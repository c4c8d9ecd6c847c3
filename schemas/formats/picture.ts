import type { Fault } from '../errors.ts';
import { DEVICES } from './devices.ts';

/** Fields shared by the screenshot tools. Their limits are in activities/browser/capture.ts. */

const pictureWidth = { type: 'integer', minimum: 100, maximum: 3840, default: 1440 } as const;
const pictureHeight = { type: 'integer', minimum: 100, maximum: 4320, default: 900 } as const;

export const PICTURE_INPUT = {
  deviceScaleFactor: {
    type: 'integer',
    enum: [1, 2],
    default: 1,
    description: '1 for standard density, 2 for high density: twice the pixels in both directions.',
  },
  format: {
    type: 'string',
    enum: ['png', 'jpeg', 'webp', 'pdf'],
    default: 'png',
    description:
      'File format. A PDF looks like the screen: with fullPage one page as high as the document, else pages of the ' +
      'window size. A WebP image has at most 16,383 pixels in height.',
  },
  quality: {
    type: 'integer',
    minimum: 40,
    maximum: 100,
    default: 85,
    description: 'Quality of JPEG and WebP, 40 to 100. Ignored for png and pdf.',
  },
  selector: {
    type: 'string',
    minLength: 1,
    maxLength: 1000,
    description:
      'CSS selector: capture only the first element that matches, without fixed or sticky elements over it. An invalid ' +
      'selector, or no visible element within 10 s, is `invalid_input`. Not for pdf.',
  },
  waitFor: {
    oneOf: [
      { type: 'string', minLength: 1, maxLength: 1000 },
      { type: 'integer', minimum: 0, maximum: 10_000 },
    ],
    description:
      'Wait before the capture: for a visible element that matches this CSS selector (within 10 s, else `invalid_input`), ' +
      'or for this many milliseconds.',
  },
  colorScheme: {
    type: 'string',
    enum: ['light', 'dark'],
    description: 'Value of the media feature `prefers-color-scheme`; light if absent.',
  },
  reducedMotion: {
    type: 'boolean',
    default: false,
    description: 'Whether the media feature `prefers-reduced-motion` is `reduce`.',
  },
  omitBackground: {
    type: 'boolean',
    default: false,
    description: 'Leave the page transparent where it has no background. For png and webp.',
  },
  device: {
    type: 'string',
    enum: DEVICES,
    description:
      'Device to emulate (presets of puppeteer): replaces width, height and deviceScaleFactor, and sets the user agent and ' +
      'touch input.',
  },
  userAgent: {
    type: 'string',
    minLength: 1,
    maxLength: 1000,
    pattern: '^[ -~]+$',
    description: 'User agent of the browser, printable ASCII. Also replaces that of the device.',
  },
} as const;

export const widthField = <D extends string>(description: D) => ({ ...pictureWidth, description }) as const;
export const heightField = <D extends string>(description: D) => ({ ...pictureHeight, description }) as const;

export const PICTURE_OUTPUT = {
  fileBase64: {
    type: 'string',
    contentEncoding: 'base64',
    description: 'File in base64, without a data URI prefix.',
  },
  mimeType: {
    type: 'string',
    enum: ['image/png', 'image/jpeg', 'image/webp', 'application/pdf'],
    description: 'MIME type of the file.',
  },
  width: { type: 'integer', description: 'Width of the image in pixels; of a PDF page in CSS pixels.' },
  height: { type: 'integer', description: 'Height of the image in pixels; of a PDF page in CSS pixels.' },
  truncated: {
    type: 'boolean',
    description:
      'True when the image was clipped because the page exceeds 16,384 CSS pixels in height or 100 million pixels in all.',
  },
} as const;

/** Checks of PICTURE_INPUT that its schema cannot express. */
export const checkPicture = ({ format, selector }: { format?: string; selector?: string }): Fault[] =>
  format === 'pdf' && selector !== undefined
    ? [{ pointer: '/selector', message: 'cannot be combined with format pdf' }]
    : [];

/** A white image of 100 x 100 pixels, for examples. */
export const EXAMPLE_PICTURE = {
  fileBase64:
    'iVBORw0KGgoAAAANSUhEUgAAAGQAAABkAQAAAABYmaj5AAAAGUlEQVR4nGP4DwUMo4xRxihjlDHKGGWQxQAAoRpkqk2aXj4AAAAASUVORK5CYII=',
  mimeType: 'image/png',
  width: 100,
  height: 100,
  truncated: false,
} as const;
