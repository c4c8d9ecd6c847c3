import {
  canonical,
  headings,
  MAX_IMAGES,
  MAX_LINKS,
  metaDescription,
  openGraph,
  PAGE_TEXT,
  PART_CODE_POINTS,
  TEXT_CODE_POINTS,
  title,
  wordCount,
} from '../formats/pageParts.ts';
import { checkSourceUrl, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

/** Of what matches the selector. */
export const MAX_MATCHES = 1000;
export const MATCH_CODE_POINTS = 10_000;
/** Of all matches together: elements inside each other hold the same text. */
export const MATCHES_CHARACTERS = 1_000_000;

export default defineTool({
  name: 'web-scrape',
  title: 'Web scrape',
  description: `Reads one page: its title, headings, links, images and text. ${PAGE_TEXT}`,
  price: 3,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: {
      url: sourceUrl('the page'),
      selector: {
        type: 'string',
        maxLength: 200,
        pattern:
          '^(?:[A-Za-z][A-Za-z0-9-]*|[.#]-{0,2}(?:[A-Za-z_]|[^\\u0000-\\u007F])(?:[A-Za-z0-9_-]|[^\\u0000-\\u007F])*)$',
        description:
          'A tag name, `.class` or `#id`; the text of every element that it matches comes in `selectorMatches`. ' +
          'Anything else of CSS is invalid.',
      },
      includeText: {
        type: 'boolean',
        default: true,
        description: 'Include the text of the page; without it `text` is null.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      finalUrl: { type: 'string', description: 'Address of the page after redirects, without fragment.' },
      statusCode: {
        type: 'integer',
        minimum: 100,
        maximum: 999,
        description: 'HTTP status that the page came with.',
      },
      title,
      metaDescription,
      canonical,
      headings,
      links: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            url: { type: 'string', description: 'Absolute URL without fragment.' },
            text: {
              type: 'string',
              description: `The first text of a link to it that is not empty, cut at ${PART_CODE_POINTS} characters; else empty.`,
            },
            internal: {
              type: 'boolean',
              description:
                'Whether it leads to the host of `finalUrl`; scheme, port and a leading `www.` do not matter.',
            },
            nofollow: {
              type: 'boolean',
              description: 'Whether every link to it says `rel="nofollow"`.',
            },
          },
          required: ['url', 'text', 'internal', 'nofollow'],
          additionalProperties: false,
        },
        description:
          'Where the `a` and `area` elements lead, each http or https address once, in the order of the document, at most ' +
          `${MAX_LINKS}. Relative ones are resolved against \`base\`; \`#top\` alone leads to the page itself. What is no ` +
          'valid URL, or longer than 4096 characters, is left out.',
      },
      images: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            url: {
              type: 'string',
              description: 'Absolute URL from `src`, else of the first candidate in `srcset`.',
            },
            alt: {
              type: ['string', 'null'],
              description: `Alternative text, cut at ${PART_CODE_POINTS} characters; null without the attribute.`,
            },
            width: {
              type: ['integer', 'null'],
              minimum: 0,
              description: 'Declared width in pixels; null where there is none, or a percentage.',
            },
            height: {
              type: ['integer', 'null'],
              minimum: 0,
              description: 'Declared height in pixels; null where there is none, or a percentage.',
            },
          },
          required: ['url', 'alt', 'width', 'height'],
          additionalProperties: false,
        },
        description:
          `The \`img\` elements in the order of the document, at most ${MAX_IMAGES}. Those without an http or https ` +
          'address, such as `data:` URLs, are left out.',
      },
      openGraph,
      selectorMatches: {
        type: ['array', 'null'],
        items: { type: 'string' },
        description:
          `Text of the elements that match \`selector\`, in the order of the document: at most ${MAX_MATCHES}, each cut at ` +
          `${MATCH_CODE_POINTS} characters, and about ${MATCHES_CHARACTERS} in all. Of hidden ones, too, and of \`script\`, ` +
          '`style` or `title` what they hold. Null when no selector was given.',
      },
      text: {
        type: ['string', 'null'],
        description:
          'Text that a reader sees, a line each for blocks such as paragraphs, list items and table rows, cut between words ' +
          `at ${TEXT_CODE_POINTS} characters (code points). Null when \`includeText\` is false.`,
      },
      wordCount,
    },
    required: [
      'finalUrl',
      'statusCode',
      'title',
      'metaDescription',
      'canonical',
      'headings',
      'links',
      'images',
      'openGraph',
      'selectorMatches',
      'text',
      'wordCount',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/' },
      output: {
        finalUrl: 'https://example.com/',
        statusCode: 200,
        title: 'Hi',
        metaDescription: null,
        canonical: null,
        headings: [],
        links: [],
        images: [],
        openGraph: {},
        selectorMatches: null,
        text: '',
        wordCount: 0,
      },
    },
  ],
  errors: PAGE_ERRORS,
  check: ({ url }) => checkSourceUrl('/url', url),
});
