import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { Icon } from './components/icons.ts';

interface Look {
  icon: Icon;
  /** One line for lists. */
  summary: string;
}

/** Groups of tools. A tool that is not listed here is shown under `Other`, with the first sentence of its description. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, Look>>>> = {
  'Web pages': {
    'website-screenshot': { icon: 'camera', summary: 'Captures a public page as an image.' },
    'web-scrape': { icon: 'text', summary: 'Extracts title, headings, links, images and text of a page.' },
    'seo-meta': { icon: 'tag', summary: 'Reads the metadata for search engines and link previews.' },
    'broken-links': { icon: 'broken', summary: 'Finds links of a page that do not work.' },
  },
  'Images and documents': {
    'html-to-image': { icon: 'image', summary: 'Renders HTML as an image.' },
    'image-upscale': { icon: 'expand', summary: 'Enlarges an image two or four times.' },
    'watermark-image': { icon: 'stamp', summary: 'Draws a text on an image.' },
    'qr-generate': { icon: 'code', summary: 'Encodes a text or URL as a QR code.' },
    'pdf-metadata': { icon: 'file', summary: 'Reads properties and page count of a PDF.' },
    'word-to-pdf': { icon: 'file', summary: 'Converts a Word document to PDF.' },
  },
  Network: {
    'http-request': { icon: 'send', summary: 'Sends one HTTP request and returns the complete response.' },
    'dns-lookup': { icon: 'globe', summary: 'Looks up the DNS records of a domain.' },
    ping: { icon: 'pulse', summary: 'Measures round-trip times to a host.' },
    'ssl-check': { icon: 'shield', summary: 'Reports the TLS certificate of a host.' },
    'smtp-test': { icon: 'mail', summary: 'Tests a mail server without sending mail.' },
  },
  'Hashes and passwords': {
    'hash-text': { icon: 'hash', summary: 'Computes the MD5, SHA-1, SHA-256 or SHA-512 digest of a text.' },
    'bcrypt-hash': { icon: 'lock', summary: 'Hashes a password with bcrypt.' },
    'bcrypt-verify': { icon: 'lock', summary: 'Verifies a password against a bcrypt hash.' },
    'argon2-verify': { icon: 'lock', summary: 'Verifies a password against an Argon2 hash.' },
  },
  Data: { 'gold-price': { icon: 'chart', summary: 'Returns the spot price of gold or silver.' } },
};

const firstSentence = ({ description }: ToolDefinition): string =>
  (description.split(/(?<=[.:])\s/)[0] ?? description).replace(/:$/, '.');

/** The icon and the summary of a tool. */
export function lookOf(tool: ToolDefinition): Look {
  const looks = Object.values(GROUPS).flatMap((group) => group[tool.name] ?? []);
  return looks[0] ?? { icon: 'tools', summary: firstSentence(tool) };
}

export interface ToolGroup {
  title: string;
  tools: readonly ToolDefinition[];
}

/** The tools in groups, without empty groups. */
export function groupTools(tools: readonly ToolDefinition[]): ToolGroup[] {
  const known = Object.entries(GROUPS).map(([title, looks]) => ({
    title,
    tools: Object.keys(looks).flatMap((name) => tools.find((tool) => tool.name === name) ?? []),
  }));
  const listed = new Set(known.flatMap((group) => group.tools));
  const other = { title: 'Other', tools: tools.filter((tool) => !listed.has(tool)) };
  return [...known, other].filter((group) => group.tools.length > 0);
}

/** Names and titles of all tools, for the command palette (`palette.js`). */
export const toolLinks = (registry: Registry): { name: string; title: string }[] =>
  [...registry.values()].map(({ name, title }) => ({ name, title }));
