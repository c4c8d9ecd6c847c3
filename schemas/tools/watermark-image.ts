import type { Fault } from '../errors.ts';
import { changedImage } from '../formats/changedImage.ts';
import { checkFileSource, fileSource } from '../formats/fileSource.ts';
import { FILE_ERRORS } from '../formats/sourceUrl.ts';
import { countGraphemes } from '../formats/text.ts';
import { defineTool } from '../tool.ts';

const MAX_GRAPHEMES = 200;
/**
 * Maximum length in code points; 200 of the longest emoji need fewer. Without this limit, a letter could carry any
 * number of accents.
 */
const MAX_CODE_POINTS = 4000;
/** Control characters other than line breaks and tabs, which cannot be drawn. */
const CONTROLS = /[^\P{Cc}\n\r\t]/u;

function checkText(text: string): Fault[] {
  const messages: string[] = [];
  if (countGraphemes(text) > MAX_GRAPHEMES) messages.push(`must have at most ${MAX_GRAPHEMES} characters`);
  if (CONTROLS.test(text)) messages.push('contains control characters, which cannot be drawn');
  if (/^\s*$/u.test(text)) messages.push('has no visible characters');
  return messages.map((message) => ({ pointer: '/text', message }));
}

export default defineTool({
  name: 'watermark-image',
  title: 'Watermark',
  description:
    'Downloads a PNG, JPEG or WebP image, detected by content, and draws text on it: bold and light with a dark ' +
    'outline, in any script and direction, with colour emoji. The letter height is a twentieth of the shorter side, ' +
    'at least 12 pixels. Text that does not fit is wrapped at spaces and, if necessary, reduced in size. Markup is drawn ' +
    'literally. The result has the format of the source and is rotated according to its EXIF orientation. What the source ' +
    'states of its colours (colour profile; cICP, mDCV, cLLI, sRGB, gAMA and cHRM of a PNG) and of its density (dpi) is kept, ' +
    'other metadata is removed. In PNG and lossless WebP all other pixels are unchanged; JPEG and ' +
    'lossy WebP are encoded at quality 90, with 4:2:0 only if the source has no finer chroma. In HDR images (cICP with PQ or ' +
    'HLG) the text has the level of paper. 16-bit, greyscale and transparent images keep their type; palettes become ' +
    'true colour and CMYK becomes sRGB. Every frame of an animated WebP is marked; an animated PNG becomes a still ' +
    'image. A gain map (Ultra HDR) is dropped; `losses` names it. Limits: 20 MB, and 40 megapixels in all frames together according to the header; above that the image is ' +
    '`source_too_large`. Other types are `unsupported_source`, and so are JPEGs with more than 8 bits per sample or lossless or ' +
    'arithmetic coding, and PNGs for iOS (CgBI); damaged files are `corrupt_source`.',
  price: 2,
  pool: 'cpu',
  thread: false,
  limits: { workMs: 40_000 },
  input: {
    type: 'object',
    properties: {
      fileUrl: fileSource('a PNG, JPEG or WebP image'),
      text: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_CODE_POINTS,
        description:
          'Watermark text. It has at most 200 user-perceived characters (a flag, or a letter with its accents, counts as ' +
          'one) and 4000 code points. Line breaks start a new line.',
      },
      opacity: {
        type: 'number',
        minimum: 0.05,
        maximum: 1,
        default: 0.35,
        description: 'Opacity of the text, 0.05 to 1.',
      },
      position: {
        type: 'string',
        enum: ['center', 'top-left', 'top-right', 'bottom-left', 'bottom-right', 'tile'],
        default: 'bottom-right',
        description: 'Position of the text; `tile` repeats it over the whole image in offset rows.',
      },
    },
    required: ['fileUrl', 'text'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...changedImage('MIME type of the output, which is that of the source.'),
    },
    required: ['fileBase64', 'mimeType', 'fileName', 'sizeBytes', 'losses'],
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
        losses: [],
      },
    },
  ],
  errors: [...FILE_ERRORS, 'output_too_large'],
  check: ({ fileUrl: url, text }) => [...checkFileSource(url), ...checkText(text)],
  raw: { data: 'fileBase64', mimeType: 'mimeType', fileName: 'fileName' },
});
