import { PAGE_METADATA, PAGE_TEXT, pageMetadata } from '../formats/pageParts.ts';
import { checkSourceUrl, PAGE_ERRORS, sourceUrl } from '../formats/sourceUrl.ts';
import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'seo-meta',
  title: 'SEO metadata',
  description:
    'Returns the metadata that a page gives to search engines and link previews, as raw values without a score. ' +
    PAGE_TEXT,
  price: 2,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: { url: sourceUrl('the page') },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'URL of the page after redirects, without fragment.' },
      ...pageMetadata,
    },
    required: ['url', ...PAGE_METADATA],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/' },
      output: {
        url: 'https://example.com/',
        title: 'Example Domain',
        description: null,
        canonical: null,
        robots: null,
        openGraph: {},
        twitter: {},
        headings: [{ level: 1, text: 'Example Domain' }],
        wordCount: 19,
      },
    },
  ],
  errors: PAGE_ERRORS,
  check: ({ url }) => checkSourceUrl('/url', url),
});
