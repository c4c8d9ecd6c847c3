import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';

interface ToolGroup {
  title: string;
  tools: readonly ToolDefinition[];
}

/** Order of the tools on the site. A tool that no group names is listed under `OTHER`. */
const GROUPS: readonly { title: string; names: readonly string[] }[] = [
  {
    title: 'Web pages',
    names: ['website-screenshot', 'html-to-image', 'web-scrape', 'seo-meta', 'broken-links'],
  },
  { title: 'Network', names: ['http-request', 'dns-lookup', 'ssl-check', 'smtp-test', 'ping'] },
  {
    title: 'Images and documents',
    names: ['image-upscale', 'watermark-image', 'qr-generate', 'word-to-pdf', 'pdf-metadata'],
  },
  {
    title: 'Hashes and passwords',
    names: ['hash-text', 'bcrypt-hash', 'bcrypt-verify', 'argon2-verify'],
  },
  { title: 'Market data', names: ['gold-price'] },
];
const OTHER = 'More tools';

/** Groups all tools of the registry. */
export function toolGroups(registry: Registry): ToolGroup[] {
  const named = new Set(GROUPS.flatMap(({ names }) => names));
  const groups = GROUPS.map(({ title, names }) => ({
    title,
    tools: names.flatMap((name) => registry.get(name) ?? []),
  }));
  const other = [...registry.values()].filter(({ name }) => !named.has(name));
  return [...groups, { title: OTHER, tools: other }].filter(({ tools }) => tools.length > 0);
}

/** The first sentence of a tool's description. */
export const summaryOf = ({ description }: ToolDefinition): string =>
  /^.*?\.(?=\s|$)/s.exec(description)?.[0] ?? description;
