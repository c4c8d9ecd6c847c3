import { also, alsoFields, PARTS } from '../formats/also.ts';
import { exampleFile } from '../formats/exampleFile.ts';
import { maxAge } from '../formats/maxAge.ts';
import { checkPicture, heightField, PICTURE_INPUT, PICTURE_OUTPUT, widthField } from '../formats/picture.ts';
import { readRequestHeaders } from '../formats/requestHeaders.ts';
import { checkSourceUrl, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Largest number of removed overlays in a result. */
export const REMOVED_OVERLAYS = 20;

export default defineTool({
  name: 'website-screenshot',
  title: 'Website screenshot',
  description:
    'Loads a public URL in a headless Chromium, waits for the network (at most 5 s) and web fonts (at most 3 s), and captures ' +
    'the viewport or the whole scrolling page. With `fullPage` the page is first scrolled through, for at most 15 s, so that ' +
    'lazily loaded images appear and endless lists grow; if an element scrolls instead of the page, its whole content is shown. A page that never becomes idle ' +
    'is captured in its current state, also if its `load` event has not fired after 30 s, and a script that never ends is stopped. From then on, ' +
    'the page cannot reload itself or open another page. Pages are captured whatever their status code, which is in the output; with ' +
    '`failOnStatus`, status codes from 400 are `target_failed`, which costs nothing. All requests of the browser are filtered: non-public addresses, internal names and ' +
    'ports that browsers refuse are blocked; for the page itself, also after a redirect, the result is `target_refused`. ' +
    'Dialogs are dismissed, new windows are closed, and service workers are not registered. A download, a PDF, a response without content (204, 304) ' +
    'or a page that navigates to `about:blank` is `unsupported_source`; a failed connection, an invalid certificate, endless ' +
    'redirects, an error status without a page or a page that requires a user name and a password is `target_failed`. A ' +
    'target that sends no page within 30 s is `target_timeout`; a page that the browser cannot render in time is ' +
    '`deadline_exceeded`. A page that takes more than 2 GB of memory or loads more than 200 MB is `source_too_large`. The ' +
    'limit is 60 s in total.',
  price: 25,
  pool: 'browser',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      url: sourceUrl('the page'),
      width: widthField('Width of the viewport in CSS pixels; media queries of the page apply to it.'),
      height: heightField(
        'Height of the viewport in CSS pixels. Ignored if fullPage is true: the viewport is then 900 pixels high.',
      ),
      fullPage: {
        type: 'boolean',
        default: false,
        description:
          'Whether to capture the whole page and not only the viewport. The page is scrolled first, so that lazily loaded images appear.',
      },
      ...PICTURE_INPUT,
      blockAds: {
        type: 'boolean',
        default: true,
        description: 'Whether to block requests to known hosts of ads and trackers.',
      },
      headers: {
        type: 'object',
        additionalProperties: { type: 'string' },
        default: {},
        description:
          'Headers that are added to requests to the origin of `url` (scheme, host and port), and to no other origin, not even after a redirect. At most 100 headers and 32 KB. `Host`, `Cookie` and connection-specific headers cannot be set.',
      },
      cookies: {
        type: 'array',
        maxItems: 50,
        default: [],
        items: {
          type: 'object',
          properties: {
            name: {
              type: 'string',
              pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
              maxLength: 256,
              description: 'Name of the cookie (RFC 6265, section 4.1.1).',
            },
            value: {
              type: 'string',
              pattern: '^[!#-+--:<-\\[\\]-~]*$',
              maxLength: 4096,
              description:
                'Value of the cookie, without quotation marks, spaces, commas, semicolons and backslashes.',
            },
          },
          required: ['name', 'value'],
          additionalProperties: false,
        },
        description:
          'Cookies that are sent with requests to the origin of `url`, and to no other origin, not even after a redirect. Scripts ' +
          'of the page cannot read them.',
      },
      failOnStatus: {
        type: 'boolean',
        default: false,
        description:
          'Whether a page with a status code from 400 is refused with `target_failed` instead of captured. A refused call is not charged.',
      },
      hideOverlays: {
        type: 'boolean',
        default: false,
        description:
          'Whether to remove cookie banners, newsletter dialogs and large sticky panels after the page has loaded.',
      },
      also,
      maxAge,
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...PICTURE_OUTPUT,
      pageTitle: {
        type: 'string',
        description: 'Title of the document, at most 1,000 characters; may be empty.',
      },
      finalUrl: { type: 'string', description: 'URL of the page after redirects, including its fragment.' },
      statusCode: {
        type: ['integer', 'null'],
        description:
          'HTTP status code of the captured page; null if no response gave one, as for a `blob:` URL.',
      },
      blockedRequestCount: {
        type: 'integer',
        minimum: 0,
        description:
          'Number of requests that were blocked because they were for ads or trackers, or because their target is not public.',
      },
      overlays: {
        type: 'array',
        maxItems: REMOVED_OVERLAYS,
        items: {
          type: 'object',
          properties: {
            action: {
              type: 'string',
              enum: ['rejected', 'closed', 'hidden'],
              description:
                '`rejected`: consent was refused in the dialog. `closed`: the dialog was closed by its own controls, but a refusal is not ' +
                'confirmed. `hidden`: only the view was changed; the page has no answer.',
            },
            rule: {
              type: 'string',
              description:
                'Name of the rule of autoconsent, or `heuristic:` and the kind of overlay: `consent`, `promotion`, `dialog`, `banner`, `named` ' +
                '(after a known product) or `frame`.',
            },
          },
          required: ['action', 'rule'],
          additionalProperties: false,
        },
        description:
          'Overlays that `hideOverlays` removed, at most 20. A dialog that stays after its answer is listed again as `hidden`.',
      },
      ...alsoFields,
    },
    required: [
      'fileBase64',
      'mimeType',
      'width',
      'height',
      'truncated',
      'pageTitle',
      'finalUrl',
      'statusCode',
      'blockedRequestCount',
      'overlays',
      ...PARTS,
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/' },
      output: {
        fileBase64: exampleFile('website-screenshot.png').fileBase64,
        mimeType: 'image/png',
        width: 1440,
        height: 900,
        truncated: false,
        pageTitle: 'Example Domain',
        finalUrl: 'https://example.com/',
        statusCode: 200,
        blockedRequestCount: 0,
        overlays: [],
        text: null,
        links: null,
        metadata: null,
        certificate: null,
      },
    },
  ],
  errors: [
    'host_not_found',
    'target_refused',
    'target_failed',
    'target_timeout',
    'unsupported_source',
    'source_too_large',
    'tool_unavailable',
  ],
  check: ({ url, headers, ...picture }) => [
    ...checkSourceUrl('/url', url),
    ...readRequestHeaders(headers, null).faults,
    ...Object.keys(headers)
      .filter((name) => /^(?:cookie|host)$/i.test(name))
      .map((name) => ({ pointer: `/headers/${name}`, message: 'cannot be set' })),
    ...checkPicture(picture),
  ],
  raw: { data: 'fileBase64', mimeType: 'mimeType', jsonOnly: PARTS },
});
