import { checkSourceUrl, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Largest number of links checked per call. */
const LINKS = 30;

/** Why a link is broken or could not be verified. */
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
  'fragment',
] as const;

export default defineTool({
  name: 'broken-links',
  title: 'Broken links',
  description:
    'Downloads a page of at most 5 MB, collects the distinct http and https URLs of its `a` and `area` elements ' +
    '(without fragments, resolved against `<base>`), and checks the first of them in document order, five at a time. ' +
    'Each link is requested once with GET; only the headers are read, and up to 5 redirects are followed. A link is ' +
    'broken when it answers a status of 400 or above, when it does not answer within 10 s, when its host does not ' +
    'resolve, or when the connection, the certificate or the protocol fails. Servers often answer 401, 403, 429 and ' +
    '999 to programs only: then `broken` is false and `reason` is `blocked`. A link to a non-public address or to a ' +
    'port that browsers block is not requested; it is broken with the reason `refused`. The page has 15 s and the ' +
    'whole call 60 s. With `checkFragments`, the pages behind links are read too, and a link is also broken when its ' +
    'fragment names nothing there. Links without an answer by then are left out; `checked` is the number of links that were ' +
    'checked.',
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
        description: 'Number of links to check, in document order.',
      },
      checkFragments: {
        type: 'boolean',
        default: false,
        description:
          'Whether to check that the part after `#` names an element of the page, by `id` or `a name`. Links that differ ' +
          'only in it are then distinct, and `url` includes it. `#top`, an empty fragment, text fragments (`#:~:text=…`), ' +
          'and fragments of what is not HTML are always fine.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'URL of the page after redirects.' },
      totalFound: { type: 'integer', minimum: 0, description: 'Distinct links on the page.' },
      checked: {
        type: 'integer',
        minimum: 0,
        maximum: LINKS,
        description: 'Number of links that were checked.',
      },
      links: {
        type: 'array',
        maxItems: LINKS,
        description: 'The checked links, in document order.',
        items: {
          type: 'object',
          properties: {
            url: {
              type: 'string',
              description: 'Absolute URL of the link, without fragment unless `checkFragments`.',
            },
            text: {
              type: 'string',
              description: 'Text of the first such link that has text; empty if none has.',
            },
            statusCode: {
              type: ['integer', 'null'],
              minimum: 100,
              maximum: 999,
              description: 'Status after redirects; null without a response.',
            },
            broken: { type: 'boolean', description: 'Whether the link is broken.' },
            reason: {
              type: ['string', 'null'],
              enum: [...LINK_REASONS, null],
              description:
                '`status` (400 or above), `blocked` (401, 403, 429, 999: not broken), `refused` (not public, or redirected there: ' +
                'not requested), `malformed` (an invalid host), `dns`, `connection_refused`, `reset`, ' +
                '`unreachable`, `timeout`, `tls`, `certificate`, `protocol`, `redirects` (more than 5) or `fragment` (only with `checkFragments`); null for a good link.',
            },
            explanation: {
              type: ['string', 'null'],
              description: '`reason` in words; null for a good link.',
            },
            finalUrl: {
              type: ['string', 'null'],
              description: 'URL after redirects, without fragment; null without a response.',
            },
            ms: {
              type: 'integer',
              minimum: 0,
              description: 'Duration of the check in milliseconds, including redirects.',
            },
          },
          required: ['url', 'text', 'statusCode', 'broken', 'reason', 'explanation', 'finalUrl', 'ms'],
          additionalProperties: false,
        },
      },
      elapsedMs: { type: 'integer', minimum: 0, description: 'Duration of the whole call in milliseconds.' },
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
            explanation: 'The server answered with status 404.',
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
