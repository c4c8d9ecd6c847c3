import type { ToolDefinition } from './tool.ts';

export interface ToolGroup {
  title: string;
  tools: readonly ToolDefinition[];
}

/**
 * Groups of the tools in the documentation and the dashboard, each tool with a sentence for lists. A tool that is missing
 * here is listed under `OTHER`, with the first sentence of its description.
 */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Web pages': {
    'website-screenshot':
      'Captures a web page as PNG, JPEG, WebP or PDF, without ads and cookie banners if you like.',
    'html-to-image': 'Renders your HTML in a real browser: receipts, certificates, social cards.',
    'web-scrape': 'Extracts title, text, headings, links and images of a page.',
    'seo-meta': 'Reads what search engines and link previews read of a page.',
    'broken-links': 'Checks the links of a page and says why each broken one is broken.',
  },
  Network: {
    'http-request': 'Sends an HTTP request and returns the complete response, headers included.',
    'dns-lookup': 'Looks up the DNS records of a domain.',
    'ssl-check': 'Shows the certificate of a server, and whether it is valid and for how long.',
    'smtp-test': 'Talks to a mail server step by step: TLS, extensions, login.',
    ping: 'Measures packet loss and round-trip times to a host.',
  },
  'Images and documents': {
    'image-upscale': 'Enlarges an image two or four times with a neural network.',
    'watermark-image': 'Draws text on an image, in any script.',
    'qr-generate': 'Encodes text or a URL as a QR code.',
    'word-to-pdf': 'Converts Word, OpenDocument and RTF documents to PDF.',
    'pdf-metadata': 'Reads title, author, number of pages and encryption of a PDF.',
  },
  'Hashes and passwords': {
    'hash-text': 'Computes the MD5, SHA‑1, SHA‑256 or SHA‑512 digest of text.',
    'bcrypt-hash': 'Hashes a password with bcrypt for storage.',
    'bcrypt-verify': 'Checks a password against a bcrypt hash.',
    'argon2-verify': 'Checks a password against an Argon2 hash.',
  },
  'Market data': {
    'gold-price': 'Spot price of gold or silver in 32 currencies, by ounce, gram, tola and karat.',
  },
};
const OTHER = 'More tools';

const SUMMARIES: Readonly<Record<string, string>> = Object.assign({}, ...Object.values(GROUPS));

/** Returns the tools in groups, without empty groups. */
export function groupTools(tools: readonly ToolDefinition[]): ToolGroup[] {
  const groups = Object.entries(GROUPS).map(([title, summaries]) => ({
    title,
    tools: Object.keys(summaries).flatMap((name) => tools.find((tool) => tool.name === name) ?? []),
  }));
  const other = tools.filter(({ name }) => !Object.hasOwn(SUMMARIES, name));
  return [...groups, { title: OTHER, tools: other }].filter((group) => group.tools.length > 0);
}

/** Returns one sentence of plain text about the tool. */
export const summaryOf = ({ name, description }: ToolDefinition): string =>
  SUMMARIES[name] ?? (description.split(/(?<=\.)\s/)[0] ?? '').replaceAll('`', '');
