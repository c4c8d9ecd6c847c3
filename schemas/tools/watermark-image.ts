import type { Fault } from '../errors.ts';
import { changedImage } from '../formats/changedImage.ts';
import { checkSourceUrl, FILE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { countGraphemes } from '../formats/text.ts';
import { defineTool } from '../tool.ts';

const MAX_GRAPHEMES = 200;
/** What 200 of the longest emoji in use need, and then some: accents can be heaped on one letter without end. */
const MAX_CODE_POINTS = 4000;
/** Line breaks and tabs can be drawn. */
const CONTROLS = /[^\P{Cc}\n\r\t]/u;

function checkText(text: string): Fault[] {
  const messages: string[] = [];
  if (countGraphemes(text) > MAX_GRAPHEMES) messages.push(`must have at most ${MAX_GRAPHEMES} characters`);
  if (CONTROLS.test(text)) messages.push('holds control characters, which cannot be drawn');
  if (/^\s*$/u.test(text)) messages.push('has nothing in it that can be drawn');
  return messages.map((message) => ({ pointer: '/text', message }));
}

export default defineTool({
  name: 'watermark-image',
  title: 'Watermark',
  description:
    'Downloads a PNG, JPEG or WebP, recognised by its bytes, and draws a text on it: light with a dark edge, bold, in any ' +
    'script and direction, emoji in colour. Letters are a twentieth of the shorter side high, at least 12 pixels; a text ' +
    'that does not fit so is broken into lines at its spaces, and then made smaller until it does. Markup is drawn as it ' +
    'stands. The answer has the format of the source, upright as its EXIF orientation says, without EXIF and other ' +
    'metadata, but with its colour profile. In PNG and lossless WebP every pixel beside the text stays as it was; JPEG and ' +
    'lossy WebP are encoded anew at quality 90. 16 bits, greyscale and transparency stay; a palette becomes true colour, ' +
    'CMYK becomes sRGB. Of an animated WebP every frame is marked; an animated PNG becomes its still picture. At most ' +
    '20 MB and 40 megapixels, all frames together, judged by the header: beyond it is `source_too_large`. Other types are ' +
    '`unsupported_source`, damaged files `corrupt_source`.',
  price: 2,
  pool: 'cpu',
  thread: false,
  limits: { workMs: 40_000 },
  input: {
    type: 'object',
    properties: {
      fileUrl: sourceUrl('a PNG, JPEG or WebP image'),
      text: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_CODE_POINTS,
        description:
          'Watermark text, at most 200 characters as people count them (a flag, or a letter with its accents, is one) and ' +
          '4000 code points. Line breaks begin a new line.',
      },
      opacity: {
        type: 'number',
        minimum: 0.05,
        maximum: 1,
        default: 0.35,
        description: '0.05 to 1; lower is more discreet.',
      },
      position: {
        type: 'string',
        enum: ['center', 'top-left', 'top-right', 'bottom-left', 'bottom-right', 'tile'],
        default: 'bottom-right',
        description: 'Where the text stands; `tile` repeats it all over the picture, in rows like bricks.',
      },
    },
    required: ['fileUrl', 'text'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...changedImage('Output MIME type, that of the source.'),
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes'],
    additionalProperties: false,
  },
  examples: [
    {
      input: {
        fileUrl: 'https://example.com/sea.png',
        text: '©',
        opacity: 0.35,
        position: 'bottom-right',
      },
      output: {
        fileBase64:
          'iVBORw0KGgoAAAANSUhEUgAAACAAAAAYCAIAAAAUMWhjAAAACXBIWXMAAAPoAAAD6AG1e1JrAAABDElEQVRIiWPQyp9OU8QwakH+aBBNH01FWiM3o+kmNwXVz0zqX5nYtyKofqZeciM1LTCMq0zoXe5W3Js8YVXW9I2RbQvSJq81iq+kkgU5k5InrNJNbc2dtcUwvkord4pOeqducmP6lHVauVOoYIFJYrVv1RSD+OrkCauQxQPrZmB6ghwL7LJanPI79RNq0CxwLeqxyWymggWmSTW+VVO0cyZmz9ikn1inlT9NO6MH4gPjhCoqWKCdPSFt0hrtjB6j+MrkCasyp22wzmjSSWtPn7JOO2cSNSI5f7p5Sl1i3wqD+Gowd5pRfGXqpDVmybXUzAf6CTXhLfNSJ61JnbQmrHmufmLtUMvJWiPFAgCv5JgjYU/FCQAAAABJRU5ErkJggg==',
        mimeType: 'image/png',
        fileName: 'sea.png',
        sizeBytes: 346,
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large'],
  check: ({ fileUrl: url, text }) => [...checkSourceUrl('/fileUrl', url), ...checkText(text)],
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
