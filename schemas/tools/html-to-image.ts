import { exampleFile } from '../formats/exampleFile.ts';
import { checkPicture, heightField, PICTURE_INPUT, PICTURE_OUTPUT, widthField } from '../formats/picture.ts';
import { defineTool } from '../tool.ts';

/** A card for social networks, without quotes, which commands would have to escape. */
const CARD =
  '<style>body{margin:0;height:100vh;display:grid;place-items:center;background:#1e3a8a;color:white;font:bold 44px sans-serif}</style>' +
  'Fresh bread from 7 a.m.';

export default defineTool({
  name: 'html-to-image',
  title: 'HTML to image',
  description:
    'Renders supplied markup with the same browser engine as website-screenshot, scripts included. A fragment is wrapped ' +
    'in a document in standards mode; markup that begins with a doctype, `<html>`, `<head>` or `<body>` is used unchanged. ' +
    'The markup has no base URL, so images, fonts and styles must use absolute https URLs or data URIs: other references, and ' +
    'files that do not load, are left out without an error. The page may not navigate to another URL; markup that does is ' +
    '`invalid_input`. Waits for the network (at most 5 s) and fonts (at most 3 s), and with `fullPage` scrolls through the ' +
    'document first. Markup that takes more than 2 GB of memory or loads more than 200 MB is `source_too_large`; markup that ' +
    'cannot be rendered within 60 s is `deadline_exceeded`.',
  price: 25,
  pool: 'browser',
  limits: { workMs: 60_000, bodyBytes: 5_242_880 },
  input: {
    type: 'object',
    properties: {
      html: {
        type: 'string',
        minLength: 1,
        description: 'A complete HTML document, or a fragment, which is wrapped in a document.',
      },
      width: widthField('Width of the viewport in CSS pixels.'),
      height: heightField(
        'Height of the viewport in CSS pixels. Ignored if fullPage is true: the viewport is then 900 pixels high.',
      ),
      fullPage: {
        type: 'boolean',
        default: false,
        description: 'Whether to capture the whole document and not only the viewport.',
      },
      ...PICTURE_INPUT,
    },
    required: ['html'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: PICTURE_OUTPUT,
    required: ['fileBase64', 'mimeType', 'width', 'height', 'truncated'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { html: CARD, width: 600, height: 315 },
      output: {
        fileBase64: exampleFile('html-to-image.png').fileBase64,
        mimeType: 'image/png',
        width: 600,
        height: 315,
        truncated: false,
      },
    },
  ],
  errors: ['source_too_large', 'target_failed', 'tool_unavailable'],
  check: checkPicture,
  raw: { data: 'fileBase64', mimeType: 'mimeType' },
});
