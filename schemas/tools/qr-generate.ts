import { isPlainlyTooLong, QR_LEVELS, tooLong } from '../formats/qr.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'qr-generate',
  title: 'QR code',
  description:
    'Draws a text or URL as a QR code: a black and white PNG of exactly the size asked for, the smallest code that holds ' +
    'the text, with whole pixels to a module and at least the four light modules on each side that readers need (what ' +
    'does not divide goes to the margin). Text beyond digits, capitals and some signs is encoded as UTF-8, without ECI: ' +
    'most readers tell it by its bytes, but some take a text with few letters beyond ASCII for another encoding. Text too ' +
    'long for the error correction, and a size below one pixel to a module, are refused with the limit.',
  price: 1,
  pool: 'cpu',
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      text: {
        type: 'string',
        minLength: 1,
        description: 'Text or URL to encode; up to 2953, 2331, 1663 or 1273 bytes at L, M, Q or H.',
      },
      size: {
        type: 'integer',
        minimum: 64,
        maximum: 2000,
        default: 300,
        description: 'Image edge length, pixels.',
      },
      errorCorrection: {
        type: 'string',
        enum: QR_LEVELS,
        default: 'M',
        description: 'Higher survives more damage but holds less data: 7, 15, 25 or 30 % of the code.',
      },
    },
    required: ['text'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      imageBase64: {
        type: 'string',
        contentEncoding: 'base64',
        contentMediaType: 'image/png',
        description: 'PNG, base64, no data URI prefix.',
      },
      mimeType: { type: 'string', const: 'image/png', description: 'Always `image/png`.' },
      size: { type: 'integer', description: 'Edge length of the produced image.' },
    },
    required: ['imageBase64', 'mimeType', 'size'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { text: 'https://example.com/', size: 64, errorCorrection: 'M' },
      output: {
        imageBase64:
          'iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAmElEQVR4nGP4DwUMQ4HxQKeDH8x4v/H1ezDjxfZV+hDGIi4oY20XhPF+eTVEzQOtFRBd/5/th5jzrnVCPpjxNnVaPIShImgPZryOnDofzHi03hCi6/mjvvtgxr8pLBA1v27GQNQ8XOQAEfn/Xg/qQu1XEMb7bevkIe5ZqAAx58Wuj/0QxgZmiKXv91ZA1DxQCu4fBMFLBgMAn1/WOJgwF2UAAAAASUVORK5CYII=',
        mimeType: 'image/png',
        size: 64,
      },
    },
  ],
  errors: [],
  check: ({ text, errorCorrection }) =>
    isPlainlyTooLong(text, errorCorrection) ? [tooLong(errorCorrection)] : [],
  raw: { data: 'imageBase64', mimeType: 'mimeType' },
});
