/** Most of each that a page's outline lists. */
export const MAX_HEADINGS = 5000;
export const MAX_LINKS = 10_000;
export const MAX_IMAGES = 10_000;
/** Longest text that a page gives, in code points; beside it those of its parts. */
export const TEXT_CODE_POINTS = 50_000;
export const PART_CODE_POINTS = 1000;
/** For titles and the values of `meta`. */
export const VALUE_CODE_POINTS = 5000;
/** Of `og:` and `twitter:` each. */
export const MAX_PROPERTIES = 1000;

/** What both tools that read a page say of how they do it. */
export const PAGE_TEXT =
  'Downloads the HTML alone (at most 5 MB after decompression, 15 s, 10 redirects), runs no scripts and loads neither ' +
  'style sheets nor images. A page that is answered with an error status is a result, too. What is HTML is told by its ' +
  'bytes as browsers do (MIME Sniffing Standard), the Content-Type is a hint; XHTML is HTML, an empty body is when it is ' +
  'declared so, anything else is `unsupported_source`. Characters are decoded by the byte order mark, else by the charset ' +
  'of the Content-Type, else by that of the `meta` element, else as UTF-8 where it is that, else as windows-1252. Elements ' +
  'more than 512 deep are read as siblings of each other, as browsers do. More than 5 MB, a hundredfold growth in ' +
  'decompression or more than 750,000 nodes are `source_too_large`. Non-public addresses are `target_refused`, also ' +
  'after a redirect; a connection that fails, an invalid certificate or too many redirects are `target_failed`, a download ' +
  'that takes more than 15 s is `target_timeout`, and a page that has not been read 30 s after the call began is ' +
  '`deadline_exceeded`.';

/** How pages are found by those who look for them. */
export const title = {
  type: ['string', 'null'],
  description: `Text of the first \`title\` element, cut at ${VALUE_CODE_POINTS} characters; null without one.`,
} as const;

export const metaDescription = {
  type: ['string', 'null'],
  description: `Meta description, cut at ${VALUE_CODE_POINTS} characters; null without one.`,
} as const;

export const canonical = {
  type: ['string', 'null'],
  description: 'Canonical URL that a `link` element declares, made absolute; null without one.',
} as const;

export const headings = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      level: { type: 'integer', minimum: 1, maximum: 6, description: '1 for `h1`, to 6 for `h6`.' },
      text: { type: 'string', description: `Its text, cut at ${PART_CODE_POINTS} characters.` },
    },
    required: ['level', 'text'],
    additionalProperties: false,
  },
  description: `Headings h1 to h6 in the order of the document, at most ${MAX_HEADINGS}, hidden ones too.`,
} as const;

const property = { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } as const;

export const openGraph = {
  type: 'object',
  additionalProperties: property,
  description:
    'Values of the `og:` properties by their full name in lower case, such as `og:title`. One that the page has several ' +
    `times is an array of its values in their order. At most ${MAX_PROPERTIES} values.`,
} as const;

export const twitter = {
  type: 'object',
  additionalProperties: property,
  description:
    'Values of the `twitter:` properties by their full name in lower case, such as `twitter:card`. One that the page has ' +
    `several times is an array of its values in their order. At most ${MAX_PROPERTIES} values.`,
} as const;

export const wordCount = {
  type: 'integer',
  minimum: 0,
  description:
    'Words in the whole text that a reader sees, by the Unicode rules (UAX 29, with dictionaries for Chinese, Japanese, ' +
    'Thai and the like). Scripts, styles, `noscript`, templates and whatever the page hides by an attribute, in `style` ' +
    'attributes or in simple rules of its `style` elements do not count; what a style sheet elsewhere hides, or a rule ' +
    'for a state or a size of the window, does.',
} as const;
