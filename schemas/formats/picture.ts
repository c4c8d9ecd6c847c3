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
  format: { type: 'string', enum: ['png', 'jpeg'], default: 'png', description: 'Image format.' },
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
    description: 'Image in base64, without a data URI prefix.',
  },
  mimeType: { type: 'string', enum: ['image/png', 'image/jpeg'], description: 'MIME type of the image.' },
  width: { type: 'integer', description: 'Width of the image in pixels.' },
  height: { type: 'integer', description: 'Height of the image in pixels.' },
  truncated: {
    type: 'boolean',
    description:
      'True when the image was clipped because the page exceeds 16,384 CSS pixels in height or 100 million pixels in all.',
  },
} as const;

/** A white image of 100 x 100 pixels, for examples. */
export const EXAMPLE_PICTURE = {
  fileBase64:
    'iVBORw0KGgoAAAANSUhEUgAAAGQAAABkAQAAAABYmaj5AAAAGUlEQVR4nGP4DwUMo4xRxihjlDHKGGWQxQAAoRpkqk2aXj4AAAAASUVORK5CYII=',
  mimeType: 'image/png',
  width: 100,
  height: 100,
  truncated: false,
} as const;
