import { checkSourceUrl, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Maximum number of links that one call checks. */
const LINKS = 30;

/** Reasons why a link is broken or could not be verified. */
const LINK_REASONS = [
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
    'Each link is requested with GET; only the headers are read, and up to 20 redirects are followed, as in browsers. A link is ' +
    'broken if its response has a status of 400 or above, if there is no response within 10 s, if its host does not ' +
    'resolve, or if the connection, the certificate check or the protocol fails. Links without a response in time, with a ' +
    'closed connection or with a status of 408, 421, 425 or 500 to 599 are requested once more at the end, for up to 20 s; then the second ' +
    'response counts. Many servers answer 401, 403, 406, 429, 430, 451, 503 and 999, or any status with the header of a bot wall, ' +
    'only to programs, elsewhere or for a while: then `broken` is false and `reason` is `blocked`. `replacement` is the ' +
    'address to write instead of one that has moved permanently. A link to a non-public address or to a ' +
    'port that browsers block is not requested; it is broken with the reason `refused`. The page must load within 15 s, and the ' +
    'whole call takes at most 60 s. Links without a response by then are left out; `checked` is the number of links that were ' +
    'checked. With `checkFragments`, the linked pages are also read, and a link is broken if its fragment identifies no ' +
    'element of the linked page.',
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
        description: 'Maximum number of links to check, in document order.',
      },
      checkFragments: {
        type: 'boolean',
        default: false,
        description:
          'Whether to check that the fragment (the part after `#`) identifies an element of the linked page by its `id` or ' +
          '`<a name>`; case matters. Links that differ only in the fragment are then distinct, and `url` includes it. `#top`, ' +
          'empty fragments, text fragments (`#:~:text=…`), what scripts read (routes such as `#/…`, `#!…` and `#users/1`, parameters such as `#tab=files`, lines such as `#L10-L20`) and fragments of resources that are not HTML, such as Markdown, ' +
          'never make a link broken. Elements that scripts add and those in `template` and `noscript` are not found; on ' +
          'GitHub, `#x` also identifies `user-content-x`.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'URL of the page after redirects.' },
      totalFound: { type: 'integer', minimum: 0, description: 'Number of distinct links on the page.' },
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
              description: 'Absolute URL of the link, without its fragment unless `checkFragments` is true.',
            },
            text: {
              type: 'string',
              description: 'Text of the first link with this URL that has text; empty if none has text.',
            },
            statusCode: {
              type: ['integer', 'null'],
              minimum: 100,
              maximum: 999,
              description: 'HTTP status code after redirects; null if there was no response.',
            },
            broken: { type: 'boolean', description: 'Whether the link is broken.' },
            reason: {
              type: ['string', 'null'],
              enum: [...LINK_REASONS, null],
              description:
                'Why the link is broken or could not be verified: `status` (400 or above), `blocked` (401, 403, 406, 429, 430, 451, 503, 999 or a bot wall; the link does not count as broken), `refused` (the target, or that of a redirect, is not public and was ' +
                'not requested), `malformed` (the host is invalid), `dns`, `connection_refused`, `reset`, ' +
                '`unreachable`, `timeout`, `tls`, `certificate`, `protocol`, `redirects` (more than 20) or `fragment` (only with `checkFragments`). Null if the link works.',
            },
            explanation: {
              type: ['string', 'null'],
              description: 'The reason as a sentence; null if the link works.',
            },
            finalUrl: {
              type: ['string', 'null'],
              description: 'URL after redirects, without fragment; null if there was no response.',
            },
            replacement: {
              type: ['string', 'null'],
              description:
                'Address to write instead: where permanent redirects (301, 308) lead from the link on, with the fragment of ' +
                '`url` unless a redirect has its own; null if the link does not redirect permanently or does not work.',
            },
            ms: {
              type: 'integer',
              minimum: 0,
              description: 'Duration of the check in milliseconds, including redirects.',
            },
          },
          required: [
            'url',
            'text',
            'statusCode',
            'broken',
            'reason',
            'explanation',
            'finalUrl',
            'replacement',
            'ms',
          ],
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
            replacement: null,
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
