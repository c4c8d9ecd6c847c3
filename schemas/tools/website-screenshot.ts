import {
  EXAMPLE_PICTURE,
  heightField,
  PICTURE_INPUT,
  PICTURE_OUTPUT,
  widthField,
} from '../formats/picture.ts';
import { checkSourceUrl, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'website-screenshot',
  title: 'Website screenshot',
  description:
    'Loads a public URL in a headless Chromium of its own, waits until network (at most 5 s) and web fonts (3 s) have ' +
    'settled, and captures the window or the whole scrolling page. With `fullPage` the page is scrolled through first, for ' +
    'at most 8 s, so that lazy images load; where an element scrolls in place of the page, all of it is shown. A page that ' +
    'never settles is captured as it is, also one whose `load` has not come after 30 s, and a script that never ends is ' +
    'ended. Whatever status the page has is captured. Everything the browser asks for goes through a filter: non-public ' +
    'addresses, internal names and ports that browsers refuse are dropped, and as the page itself, also after a redirect, ' +
    'they are `target_refused`. Dialogs are dismissed, new windows closed, service workers refused. A file to download, a ' +
    'PDF, an answer without content (204) or a page that leaves for `about:blank` is `unsupported_source`; a connection that ' +
    'fails, an invalid certificate, endless redirects, an error without a page or a page that asks for a user name and a ' +
    'password is `target_failed`; no answer within 30 s is `target_timeout`. A page that takes more than 2 GB of memory or ' +
    'loads more than 200 MB is `source_too_large`. 60 s in all.',
  price: 25,
  pool: 'browser',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      url: sourceUrl('the page'),
      width: widthField('Viewport width, CSS pixels; responsive breakpoints apply.'),
      height: heightField(
        'Viewport height, CSS pixels. Ignored when fullPage is true: the window is 900 high then.',
      ),
      fullPage: {
        type: 'boolean',
        default: false,
        description: 'Capture the whole scrollable page; the page is scrolled first so lazy images load.',
      },
      ...PICTURE_INPUT,
      blockAds: { type: 'boolean', default: true, description: 'Drop known ad and tracker hosts.' },
      hideOverlays: {
        type: 'boolean',
        default: false,
        description: 'Remove cookie banners, newsletter modals and large sticky panels after load.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      ...PICTURE_OUTPUT,
      pageTitle: { type: 'string', description: 'Document title, at most 1,000 characters; may be empty.' },
      finalUrl: { type: 'string', description: 'Address of the page after redirects.' },
      blockedRequestCount: {
        type: 'integer',
        minimum: 0,
        description: 'Requests dropped as ads, trackers or private-network targets.',
      },
    },
    required: [
      'fileBase64',
      'mimeType',
      'width',
      'height',
      'truncated',
      'pageTitle',
      'finalUrl',
      'blockedRequestCount',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/', width: 100, height: 100 },
      output: {
        ...EXAMPLE_PICTURE,
        pageTitle: 'Hi',
        finalUrl: 'https://example.com/',
        blockedRequestCount: 0,
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
  check: ({ url }) => checkSourceUrl('/url', url),
  raw: { data: 'fileBase64', mimeType: 'mimeType' },
});
