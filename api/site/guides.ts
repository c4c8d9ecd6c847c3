import { readFile } from 'node:fs/promises';
import { VARIABLES } from '../../schemas/env.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { Registry } from '../../schemas/registry.ts';
import { moneyOf, worthOf } from '../billing/prices.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { price, unitPrice } from '../dashboard/components/price.ts';
import type { Operator } from '../operator.ts';
import { errorList, errorTable } from './errorTable.ts';
import { renderMarkdown, withoutLinks } from './markdown.ts';
import type { Page, Scope } from './page.ts';
import { CHANGELOG_FEED, CHANGELOG_PATH } from './paths.ts';

/** Values of the installation that the guides show. */
export interface Installation {
  registry: Registry;
  /** URL of the API, without a trailing slash. */
  baseUrl: string;
  /** Credits of a new account. */
  freeCredits: number;
  /** Credit packs on sale. */
  packs: readonly Pack[];
  /** Operator of the installation; null if none is configured. */
  operator: Operator | null;
  /** Whether visitors can try tools without an account. */
  hasTrials: boolean;
}

/** Address of the local stack, which the files contain. Pages show the address of the installation instead. */
const LOCAL_URL = `http://${VARIABLES.HOST.fallback}:${VARIABLES.PORT.fallback}`;

const FOLDER = new URL('../../docs/', import.meta.url);

/** Files of `docs/` that are pages, by section. The others are for developers of the service. */
export const GUIDES = [
  { title: 'Start', scope: 'customers', names: ['quickstart', 'authentication'] },
  {
    title: 'Guides',
    scope: 'customers',
    names: [
      'retries',
      'idempotency',
      'jobs',
      'batches',
      'schedules',
      'files',
      'rate-limits',
      'billing',
      'receipts',
      'webhooks',
      'account',
      'clients',
      'agents',
    ],
  },
  {
    title: 'Reference',
    scope: 'customers',
    names: ['errors', 'limits', 'contract', 'versioning', 'changelog', 'security'],
  },
  { title: 'Operate', scope: 'operators', names: ['operations', 'configuration', 'capacity', 'glossary'] },
] as const satisfies readonly { title: string; scope: Scope; names: readonly string[] }[];

const PUBLISHED: readonly string[] = GUIDES.flatMap(({ names }) => names);

/** The path of the page of a file; null if it is not published. */
export const linkTo = (file: string): string | null => {
  const name = file.replace(/\.md$/, '');
  return PUBLISHED.includes(name) ? `/docs/${name}` : null;
};

interface Insert {
  markdown: string;
  /** Default: rendered from the Markdown. */
  html?: string;
}

/** Titles of right-aligned columns. */
const NUMERIC = /^(?:Credits|Price)/;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map((title) => (NUMERIC.test(title) ? '--:' : '---')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');

const SECOND = 1000;
const MEGABYTE = 1_048_576;

/** Tables that replace `<!-- insert: <name> -->` in the files. */
function inserts({ registry, freeCredits, packs }: Installation): Record<string, Insert> {
  const tools = [...registry.values()];
  const byTitle = tools.toSorted((a, b) => a.title.localeCompare(b.title, 'en'));
  const packTable = table(
    ['Credits', 'Price', 'Price per credit', 'Enough for'],
    packs.map((pack) => [
      new Intl.NumberFormat('en').format(pack.credits),
      price(pack.amount, pack.currency),
      unitPrice(pack.amount, pack.credits, pack.currency),
      worthOf(pack.credits, registry),
    ]),
  );
  return {
    prices: {
      markdown: table(
        ['Tool', 'Name', 'Credits', ...(packs.length === 0 ? [] : ['Price of a call'])],
        byTitle.map((tool) => [
          `[${tool.title}](/docs/tools/${tool.name})`,
          `\`${tool.name}\``,
          `${tool.price}`,
          ...(packs.length === 0 ? [] : [moneyOf(tool.price, packs) ?? '']),
        ]),
      ),
    },
    packs: { markdown: packs.length === 0 ? 'This installation sells no credits.' : packTable },
    'free credits': { markdown: `A new account starts with ${freeCredits} free credits.` },
    'tool limits': {
      markdown: table(
        ['Tool', 'Request body', 'Time limit', 'Pool'],
        tools.map(({ name, limits, pool }) => [
          `[\`${name}\`](/docs/tools/${name})`,
          `${(limits.bodyBytes ?? DEFAULT_BODY_BYTES) / MEGABYTE} MB`,
          `${limits.workMs / SECOND} s`,
          pool,
        ]),
      ),
    },
    errors: { markdown: errorList(), html: errorTable().markup },
  };
}

const INSERT = /^<!-- insert: ([\w ]+) -->$/gm;
/** Markers of tables that `npm run docs` generates. */
const GENERATED = /^<!-- (?:begin|end) .*-->\n/gm;

/** The first sentence as plain text. */
function summaryOf(markdown: string): string {
  const paragraph = markdown.split('\n\n')[1] ?? '';
  const text = withoutLinks(paragraph).replaceAll(/[`*]/g, '').replaceAll('\n', ' ');
  return text.split(/(?<=[.:]) (?=[A-Z])/)[0] ?? text;
}

async function guide(name: string, baseUrl: string, known: Record<string, Insert>): Promise<Page> {
  const file = await readFile(new URL(`${name}.md`, FOLDER), 'utf8');
  const source = file.replaceAll(LOCAL_URL, baseUrl).replaceAll(GENERATED, '');
  const fill = (format: 'markdown' | 'html') =>
    source.replaceAll(INSERT, (_all, insert: string) => {
      const found = known[insert];
      if (found === undefined) throw new Error(`docs/${name}.md: no insert "${insert}"`);
      return found[format] ?? found.markdown;
    });
  const [, title = name, rest = ''] = /^# (.+)\n([\s\S]*)$/.exec(fill('html')) ?? [];
  const { body, headings } = renderMarkdown(rest, linkTo);
  const markdown = fill('markdown');
  const path = `/docs/${name}`;
  return {
    path,
    title,
    summary: summaryOf(markdown),
    markdown,
    body,
    headings,
    ...(path === CHANGELOG_PATH && { feed: CHANGELOG_FEED }),
  };
}

/** Renders the published files of `docs/`, by name. @throws if a file is missing or names an unknown insert */
export async function loadGuides(installation: Installation): Promise<Map<string, Page>> {
  const known = inserts(installation);
  const guides = new Map<string, Page>();
  // Sequential, so that the event loop can serve other requests in between.
  for (const name of PUBLISHED) guides.set(name, await guide(name, installation.baseUrl, known));
  return guides;
}
