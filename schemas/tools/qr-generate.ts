import { exampleFile } from '../formats/exampleFile.ts';
import { exceedsEveryMode, QR_LEVELS, tooLong } from '../formats/qr.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'qr-generate',
  title: 'QR code',
  description:
    'Encodes text or a URL as a QR code: a black and white PNG of exactly the requested size. The smallest symbol ' +
    'that holds the text is used, with a whole number of pixels per module and a quiet zone of at least four ' +
    'modules; remaining pixels are added to the margin. Text other than digits, capital letters and some symbols is encoded ' +
    'as UTF-8 without an ECI marker. Most readers detect this, but some misread text with few non-ASCII letters as another ' +
    'encoding. Text that is too long for the error correction level, and a size of less than one pixel per module, are ' +
    '`invalid_input`; the message states the limit.',
  price: 1,
  pool: 'cpu',
  fast: true,
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      text: {
        type: 'string',
        minLength: 1,
        description:
          'Text or URL to encode. It has at most 2953, 2331, 1663 or 1273 bytes of UTF-8 at error correction level L, M, Q or H; text of only digits or capital letters may be longer.',
      },
      size: {
        type: 'integer',
        minimum: 64,
        maximum: 2000,
        default: 300,
        description: 'Edge length of the image in pixels.',
      },
      errorCorrection: {
        type: 'string',
        enum: QR_LEVELS,
        default: 'M',
        description:
          'Error correction level. L, M, Q and H tolerate damage to 7, 15, 25 and 30 % of the code; higher levels hold less data.',
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
        description: 'PNG in base64, without a data URI prefix.',
      },
      mimeType: { type: 'string', const: 'image/png', description: 'Always `image/png`.' },
      size: { type: 'integer', description: 'Edge length of the image in pixels.' },
    },
    required: ['imageBase64', 'mimeType', 'size'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { text: 'https://example.com/' },
      output: {
        imageBase64: exampleFile('qr-generate.png').fileBase64,
        mimeType: 'image/png',
        size: 300,
      },
    },
  ],
  errors: [],
  check: ({ text, errorCorrection }) =>
    exceedsEveryMode(text, errorCorrection) ? [tooLong(errorCorrection)] : [],
  raw: { data: 'imageBase64', mimeType: 'mimeType' },
});
