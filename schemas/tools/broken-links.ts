import { checkSourceUrl, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Links checked in one call, at most. */
const LINKS = 30;

/** Why a link is broken, or not known to be good. */
export const LINK_REASONS = [
  'status',
  'blocked',
  'refused',
  'malformed',
  'dns',
  'connection_refused',
  'reset',
  'unreachable',
  'timeout',
  'tls',
  'certificate',
  'protocol',
  'redirects',
] as const;

export default defineTool({
  name: 'broken-links',
  title: 'Broken links',
  description:
    'Downloads a page of at most 5 MB, takes the different addresses that its `a` and `area` elements lead to (http and ' +
    'https, fragments left out, `<base>` respected) and checks the first of them in the order of the document, five at a ' +
    'time. Each is asked for with one GET, of which only the headers are read, and up to 5 redirects are followed. A ' +
    'link is broken when it answers a status from 400 on or nothing in 10 s, when its host does not resolve, or when ' +
    'connection, certificate or protocol fail. 401, 403, 429 and 999 are what servers tell programs and not visitors: ' +
    '`broken` is false there and `reason` is `blocked`. A link to a non-public address or a port that browsers refuse is ' +
    'not fetched; it is broken for everybody who reads the page, with the reason `refused`. The page itself has 15 s, and ' +
    'everything together 60 s: links that have no answer by then are left out, and `checked` says how many there are.',
  price: 10,
  pool: 'network',
  limits: { workMs: 60_000 },
  input: {
    type: 'object',
    properties: {
      url: sourceUrl('the page'),
      maxLinks: {
        type: 'integer',
        minimum: 1,
        maximum: LINKS,
        default: LINKS,
        description: 'Links to check, in the order of the document.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'Page that was crawled: its address after redirects.' },
      totalFound: { type: 'integer', minimum: 0, description: 'Different links on the page.' },
      checked: {
        type: 'integer',
        minimum: 0,
        maximum: LINKS,
        description: 'Links that were checked.',
      },
      links: {
        type: 'array',
        maxItems: LINKS,
        description: 'Each link that was checked, in the order of the document.',
        items: {
          type: 'object',
          properties: {
            url: { type: 'string', description: 'Address of the link: absolute, without fragment.' },
            text: {
              type: 'string',
              description: 'Text of the first link to it that has one; empty where there is none.',
            },
            statusCode: {
              type: ['integer', 'null'],
              minimum: 100,
              maximum: 999,
              description: 'Status after redirects; null when there was no answer.',
            },
            broken: { type: 'boolean', description: 'Whether a visitor gets nothing good from it.' },
            reason: {
              type: ['string', 'null'],
              enum: [...LINK_REASONS, null],
              description:
                '`status` (400 or above), `blocked` (401, 403, 429, 999: not broken), `refused` (not public, or led there by a ' +
                'redirect: not fetched), `malformed` (a host that cannot be), `dns`, `connection_refused`, `reset`, ' +
                '`unreachable`, `timeout`, `tls`, `certificate`, `protocol` or `redirects` (more than 5); null for a good link.',
            },
            finalUrl: {
              type: ['string', 'null'],
              description: 'Address after redirects, without fragment; null when there was no answer.',
            },
            ms: {
              type: 'integer',
              minimum: 0,
              description: 'Milliseconds the check took, redirects included.',
            },
          },
          required: ['url', 'text', 'statusCode', 'broken', 'reason', 'finalUrl', 'ms'],
          additionalProperties: false,
        },
      },
      elapsedMs: { type: 'integer', minimum: 0, description: 'Milliseconds that everything took.' },
    },
    required: ['url', 'totalFound', 'checked', 'links', 'elapsedMs'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/', maxLinks: 10 },
      output: {
        url: 'https://example.com/',
        totalFound: 1,
        checked: 1,
        links: [
          {
            url: 'https://example.com/gone',
            text: 'Our old page',
            statusCode: 404,
            broken: true,
            reason: 'status',
            finalUrl: 'https://example.com/gone',
            ms: 84,
          },
        ],
        elapsedMs: 203,
      },
    },
  ],
  errors: [...PAGE_ERRORS, 'deadline_exceeded'],
  check: ({ url }) => checkSourceUrl('/url', url),
});
