import type { Fault } from '../errors.ts';
import { DEVICES } from './devices.ts';

/**
 * Input and output fields that website-screenshot and html-to-image have in common. The limits are in
 * activities/browser/capture.ts.
 */

const pictureWidth = { type: 'integer', minimum: 100, maximum: 3840, default: 1440 } as const;
const pictureHeight = { type: 'integer', minimum: 100, maximum: 4320, default: 900 } as const;

export const PICTURE_INPUT = {
  deviceScaleFactor: {
    type: 'integer',
    enum: [1, 2],
    default: 1,
    description: 'Device pixel ratio. With 2, the image has twice the pixels in both directions.',
  },
  format: {
    type: 'string',
    enum: ['png', 'jpeg', 'webp', 'pdf'],
    default: 'png',
    description:
      'File format. A PDF looks as on the screen: with fullPage it is one page as high as the document, else it has pages of the ' +
      'viewport size. A WebP image is at most 16,383 pixels high.',
  },
  quality: {
    type: 'integer',
    minimum: 40,
    maximum: 100,
    default: 85,
    description: 'Quality of a JPEG or WebP image, 40 to 100. Ignored for png and pdf.',
  },
  selector: {
    type: 'string',
    minLength: 1,
    maxLength: 1000,
    description:
      'CSS selector of an element to capture instead of the page. Only the first one is captured, without fixed or sticky elements that cover ' +
      'it. An invalid selector, or no visible match within 10 s, is `invalid_input`. Not allowed with format pdf.',
  },
  waitFor: {
    oneOf: [
      { type: 'string', minLength: 1, maxLength: 1000 },
      { type: 'integer', minimum: 0, maximum: 10_000 },
    ],
    description:
      'Wait before the capture for a visible element that matches this CSS selector, or for this many milliseconds. An ' +
      'element that does not appear within 10 s is `invalid_input`.',
  },
  colorScheme: {
    type: 'string',
    enum: ['light', 'dark'],
    description: 'Value of the CSS media feature `prefers-color-scheme`. Default: light.',
  },
  reducedMotion: {
    type: 'boolean',
    default: false,
    description: 'Whether the CSS media feature `prefers-reduced-motion` is `reduce`.',
  },
  omitBackground: {
    type: 'boolean',
    default: false,
    description: 'Whether the image is transparent where the page has no background. Only for png and webp.',
  },
  device: {
    type: 'string',
    enum: DEVICES,
    description:
      'Device to emulate, one of the device presets of Puppeteer. It overrides width, height and deviceScaleFactor, and sets the user agent and ' +
      'touch input.',
  },
  userAgent: {
    type: 'string',
    minLength: 1,
    maxLength: 1000,
    pattern: '^[ -~]+$',
    description:
      'User agent of the browser (printable ASCII). Overrides the user agent of the emulated device.',
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
      'Whether the image lacks a part of the page: the page exceeds 16,384 CSS pixels in height or 100 million pixels in total, or a list ' +
      'shows only the rows around the viewport and could not be drawn whole.',
  },
} as const;

/** Checks of `PICTURE_INPUT` that JSON Schema cannot express. */
export const checkPicture = ({ format, selector }: { format?: string; selector?: string }): Fault[] =>
  format === 'pdf' && selector !== undefined
    ? [{ pointer: '/selector', message: 'cannot be combined with format pdf' }]
    : [];
