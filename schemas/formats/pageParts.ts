/** Maximum numbers of headings, links and images that are returned for a page. */
export const MAX_HEADINGS = 5000;
export const MAX_LINKS = 10_000;
export const MAX_IMAGES = 10_000;
/** Maximum lengths of text in code points: of the whole page, and of one part of it, such as a heading. */
export const TEXT_CODE_POINTS = 50_000;
export const PART_CODE_POINTS = 1000;
/** Maximum length of a title or `meta` value, in code points. */
export const VALUE_CODE_POINTS = 5000;
/** Maximum number of `og:` properties, and of `twitter:` properties. */
export const MAX_PROPERTIES = 1000;

/** The part of the description that web-scrape and seo-meta have in common. */
export const PAGE_TEXT =
  'Downloads only the HTML (at most 5 MB after decompression, 15 s, 10 redirects); scripts are not run, and style ' +
  'sheets and images are not loaded. A `refresh` after 0 s, in a `meta` element or a header, is followed like a redirect. Declarative ' +
  'shadow roots are part of the page, with its elements in their slots. A page with an error status is also a result. HTML is detected from its bytes as ' +
  'in browsers (MIME Sniffing Standard), with the Content-Type as a hint. XHTML is read as HTML; an empty body is ' +
  'accepted if it is declared as HTML; anything else is `unsupported_source`. The character encoding is taken from ' +
  'the byte order mark, else from the Content-Type, else from the `meta` element; otherwise it is UTF-8 if the page is valid UTF-8, ' +
  'else windows-1252. Elements nested more than 512 deep are read as siblings, as in browsers. More than 5 MB, a ' +
  'hundredfold growth by decompression, or more than 750,000 nodes are `source_too_large`. Non-public addresses are ' +
  '`target_refused`, also after a redirect. A failed connection, an invalid certificate or too many redirects are ' +
  '`target_failed`; a download of more than 15 s is `target_timeout`; a page that is not processed within 30 s of ' +
  'the call is `deadline_exceeded`.';

export const title = {
  type: ['string', 'null'],
  description: `Text of the first \`title\` element, cut at ${VALUE_CODE_POINTS} characters; null if absent.`,
} as const;

export const metaDescription = {
  type: ['string', 'null'],
  description: `Meta description, cut at ${VALUE_CODE_POINTS} characters; null if absent.`,
} as const;

export const canonical = {
  type: ['string', 'null'],
  description: 'Canonical URL declared by a `link` element, as an absolute URL; null if absent.',
} as const;

export const headings = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      level: { type: 'integer', minimum: 1, maximum: 6, description: '1 for `h1`, to 6 for `h6`.' },
      text: { type: 'string', description: `Text of the heading, cut at ${PART_CODE_POINTS} characters.` },
    },
    required: ['level', 'text'],
    additionalProperties: false,
  },
  description: `Headings h1 to h6 in the order of the document, at most ${MAX_HEADINGS}, including hidden ones.`,
} as const;

/** Output fields of a link of a page. */
export const link = {
  type: 'object',
  properties: {
    url: { type: 'string', description: 'Absolute URL without fragment.' },
    text: {
      type: 'string',
      description: `Text of the first link to this URL that has text, cut at ${PART_CODE_POINTS} characters; empty if none has text.`,
    },
    internal: {
      type: 'boolean',
      description:
        'Whether the link leads to the host of `finalUrl`, ignoring scheme, port and a leading `www.`.',
    },
    nofollow: {
      type: 'boolean',
      description: 'Whether all links to this URL have `rel="nofollow"`.',
    },
  },
  required: ['url', 'text', 'internal', 'nofollow'],
  additionalProperties: false,
} as const;

export const LINKS_TEXT =
  'Distinct http and https URLs of the `a` and `area` elements in document order, at most ' +
  `${MAX_LINKS}. Relative URLs are resolved against the \`base\` element; a link with only a fragment, such as \`#top\`, is a link to the page itself. Invalid URLs and ` +
  'URLs of more than 4096 characters are left out.';

export const links = { type: 'array', items: link, description: LINKS_TEXT } as const;

export const robots = {
  type: ['string', 'null'],
  description: 'Robots directives of the `meta` elements, joined by `, `; null if absent.',
} as const;

const property = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } as const;

export const openGraph = {
  type: 'object',
  additionalProperties: property,
  description:
    'Values of the `og:` properties by their full name in lower case, such as `og:title`. A property that occurs several ' +
    `times is an array of its values in document order. At most ${MAX_PROPERTIES} values.`,
} as const;

export const twitter = {
  type: 'object',
  additionalProperties: property,
  description:
    'Values of the `twitter:` properties by their full name in lower case, such as `twitter:card`. A property that occurs ' +
    `several times is an array of its values in document order. At most ${MAX_PROPERTIES} values.`,
} as const;

export const wordCount = {
  type: 'integer',
  minimum: 0,
  description:
    'Number of words in the visible text, by the Unicode rules (UAX 29, with dictionaries for Chinese, Japanese, Thai and ' +
    'similar scripts). Scripts, styles, `noscript`, templates, and content hidden by attributes, `style` attributes or ' +
    'simple rules in `style` elements are not counted; media queries are evaluated for a viewport of 1440 x 900 ' +
    'pixels. Content hidden by external style sheets or by rules for states such as `:hover` is counted. A style that hides `html` or `body`, ' +
    'which some pages use until their script runs, is ignored.',
} as const;

/** Output fields with the metadata of a page. */
export const pageMetadata = {
  title,
  description: metaDescription,
  canonical,
  robots,
  openGraph,
  twitter,
  headings,
  wordCount,
} as const;

/** The names of `pageMetadata`. */
export const PAGE_METADATA = [
  'title',
  'description',
  'canonical',
  'robots',
  'openGraph',
  'twitter',
  'headings',
  'wordCount',
] as const;
