import { maxAge } from '../formats/maxAge.ts';
import {
  canonical,
  headings,
  links,
  MAX_IMAGES,
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

/** Maximum number of selector matches that are returned. */
export const MAX_MATCHES = 1000;
export const MATCH_CODE_POINTS = 10_000;
/**
 * Maximum length of all matches together in characters. It is needed because nested elements contain the same text.
 */
export const MATCHES_CHARACTERS = 1_000_000;

/** Kinds of pages that main content is found in. */
export const PAGE_TYPES = [
  'article',
  'collection',
  'documentation',
  'forum',
  'listing',
  'product',
  'service',
] as const;

export default defineTool({
  name: 'web-scrape',
  title: 'Web scrape',
  description: `Extracts the title, headings, links, images and text of a page. ${PAGE_TEXT}`,
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
          'A tag name, `.class` or `#id`; `selectorMatches` then contains the text of every matching element. Other CSS ' +
          'selectors are refused.',
      },
      includeText: {
        type: 'boolean',
        default: true,
        description: 'Whether to include the text of the page; if false, `text` is null.',
      },
      content: {
        type: 'string',
        enum: ['page', 'main'],
        default: 'page',
        description:
          'What `text` and `wordCount` cover: `page` the whole page, `main` only its main content: an article, all posts of a ' +
          'thread, the description of a product, the entries of a listing, without navigation and other parts around it. ' +
          'It includes content that scripts would show, such as closed tabs, and descriptions that only the metadata has. ' +
          'The text of a page without main content is empty.',
      },
      format: {
        type: 'string',
        enum: ['text', 'markdown'],
        default: 'text',
        description:
          'Format of `text`. GitHub Flavored Markdown has headings, lists, tables, code with its language, formulas as `$…$` in TeX, ' +
          'links and images with absolute URLs. Characters that would be markup are escaped. With `content: page` it also includes content that is hidden by styles.',
      },
      maxAge,
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      finalUrl: { type: 'string', description: 'URL of the page after redirects, without fragment.' },
      statusCode: {
        type: 'integer',
        minimum: 100,
        maximum: 999,
        description: 'HTTP status code of the page.',
      },
      title,
      metaDescription,
      canonical,
      headings,
      links,
      images: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            url: {
              type: 'string',
              description:
                'Absolute URL from `src`, or from the first candidate of `srcset` if there is no `src`.',
            },
            alt: {
              type: ['string', 'null'],
              description: `Alternative text, cut at ${PART_CODE_POINTS} characters; null if absent.`,
            },
            width: {
              type: ['integer', 'null'],
              minimum: 0,
              description: 'Value of the `width` attribute in pixels; null if absent or a percentage.',
            },
            height: {
              type: ['integer', 'null'],
              minimum: 0,
              description: 'Value of the `height` attribute in pixels; null if absent or a percentage.',
            },
          },
          required: ['url', 'alt', 'width', 'height'],
          additionalProperties: false,
        },
        description:
          `The \`img\` elements in document order, at most ${MAX_IMAGES}. Images without an http or https URL, ` +
          'such as `data:` URLs, are left out.',
      },
      openGraph,
      selectorMatches: {
        type: ['array', 'null'],
        items: { type: 'string' },
        description:
          `Text of the elements that match \`selector\`, in document order: at most ${MAX_MATCHES}, each cut at ` +
          `${MATCH_CODE_POINTS} characters, and about ${MATCHES_CHARACTERS} characters in total. Includes hidden elements, and the content of \`script\`, ` +
          '`style` and `title`. Null if no selector was given.',
      },
      text: {
        type: ['string', 'null'],
        description:
          'Visible text, or Markdown if `format` is `markdown`. Text has one line for each block, such as a paragraph, list item or table row. It is cut between words ' +
          `at ${TEXT_CODE_POINTS} characters (code points). Null if \`includeText\` is false.`,
      },
      wordCount,
      pageType: {
        type: ['string', 'null'],
        enum: [...PAGE_TYPES, null],
        description:
          'Kind of the page: `collection` shows products of a shop, `listing` refers to other pages, `service` presents a company or ' +
          'what it offers. Null unless `content` is `main`.',
      },
      confidence: {
        type: ['number', 'null'],
        minimum: 0,
        maximum: 1,
        description:
          'How well `text` is expected to cover the main content (F1 measure). Of pages above 0.9, at least 95 of 100 have an F1 ' +
          'above 0.8. Null unless `content` is `main`.',
      },
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
      'pageType',
      'confidence',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/' },
      output: {
        finalUrl: 'https://example.com/',
        statusCode: 200,
        title: 'Example Domain',
        metaDescription: null,
        canonical: null,
        headings: [{ level: 1, text: 'Example Domain' }],
        links: [
          {
            url: 'https://iana.org/domains/example',
            text: 'Learn more',
            internal: false,
            nofollow: false,
          },
        ],
        images: [],
        openGraph: {},
        selectorMatches: null,
        text:
          'Example Domain\n\nThis domain is for use in documentation examples without needing permission. ' +
          'Avoid use in operations.\n\nLearn more',
        wordCount: 19,
        pageType: null,
        confidence: null,
      },
    },
  ],
  errors: PAGE_ERRORS,
  check: ({ url }) => checkSourceUrl('/url', url),
});
