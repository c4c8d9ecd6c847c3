import type { Icon } from '../../components/icons.ts';

const ICONS: Readonly<Record<string, Icon>> = {
  'website-screenshot': 'camera',
  'html-to-image': 'image',
  'web-scrape': 'text',
  'seo-meta': 'tag',
  'broken-links': 'broken',
  'http-request': 'send',
  'dns-lookup': 'globe',
  'ssl-check': 'shield',
  'smtp-test': 'mail',
  ping: 'pulse',
  'image-upscale': 'expand',
  'watermark-image': 'stamp',
  'qr-generate': 'code',
  'word-to-pdf': 'file',
  'pdf-metadata': 'file',
  'hash-text': 'hash',
  'bcrypt-hash': 'lock',
  'bcrypt-verify': 'lock',
  'argon2-verify': 'lock',
  'gold-price': 'chart',
};

/** Returns the icon of a tool; a general one for tools that are not listed here. */
export const toolIcon = (name: string): Icon => ICONS[name] ?? 'tools';
