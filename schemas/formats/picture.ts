/** Fields that the tools which draw pages share. Ceilings: activities/browser/capture.ts. */

const pictureWidth = { type: 'integer', minimum: 100, maximum: 3840, default: 1440 } as const;
const pictureHeight = { type: 'integer', minimum: 100, maximum: 4320, default: 900 } as const;

export const PICTURE_INPUT = {
  deviceScaleFactor: {
    type: 'integer',
    enum: [1, 2],
    default: 1,
    description: '1 standard density, 2 high density: twice as many pixels each way.',
  },
  format: { type: 'string', enum: ['png', 'jpeg'], default: 'png', description: 'Format of the picture.' },
  quality: {
    type: 'integer',
    minimum: 40,
    maximum: 100,
    default: 85,
    description: 'JPEG quality, 40 to 100. Ignored for png.',
  },
} as const;

export const widthField = <D extends string>(description: D) => ({ ...pictureWidth, description }) as const;
export const heightField = <D extends string>(description: D) => ({ ...pictureHeight, description }) as const;

export const PICTURE_OUTPUT = {
  fileBase64: {
    type: 'string',
    contentEncoding: 'base64',
    description: 'Picture, base64, without a data URI prefix.',
  },
  mimeType: { type: 'string', enum: ['image/png', 'image/jpeg'], description: 'Type of the picture.' },
  width: { type: 'integer', description: 'Pixel width of the picture.' },
  height: { type: 'integer', description: 'Pixel height of the picture.' },
  truncated: {
    type: 'boolean',
    description:
      'True when the page is higher than 16,384 CSS pixels, or would give more than 100 million pixels, and was clipped there.',
  },
} as const;

/** A white picture of 100 x 100 pixels, for the examples. */
export const EXAMPLE_PICTURE = {
  fileBase64:
    'iVBORw0KGgoAAAANSUhEUgAAAGQAAABkAQAAAABYmaj5AAAAGUlEQVR4nGP4DwUMo4xRxihjlDHKGGWQxQAAoRpkqk2aXj4AAAAASUVORK5CYII=',
  mimeType: 'image/png',
  width: 100,
  height: 100,
  truncated: false,
} as const;
