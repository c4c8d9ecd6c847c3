import { setImmediate } from 'node:timers/promises';
import { groupTools } from '../../schemas/toolGroups.ts';
import { GUIDES, type Installation, loadGuides } from './guides.ts';
import { operatorsPage, overviewPage, toolsPage } from './indexPages.ts';
import type { Area, Page, Scope, Section } from './page.ts';
import { REFERENCE_PATH } from './reference/paths.ts';
import { referenceSections } from './reference/reference.ts';
import { toolPage } from './toolPage.ts';

async function toolSections({ registry, baseUrl, packs }: Installation): Promise<Section[]> {
  const sections: Section[] = [];
  for (const { title, tools } of groupTools([...registry.values()])) {
    const pages: Page[] = [];
    for (const tool of tools) {
      pages.push(toolPage(tool, baseUrl, packs));
      await setImmediate();
    }
    sections.push({ title: `Tools: ${title.toLowerCase()}`, pages });
  }
  return sections;
}

/** Adds a page at the start of the first section. */
const withFirst = (page: Page, [first, ...others]: readonly Section[]): Section[] => [
  { title: first?.title ?? page.title, pages: [page, ...(first?.pages ?? [])] },
  ...others,
];

/**
 * Creates the areas of the documentation: for callers, the reference of the API, and for operators. Yields to the event loop
 * between pages.
 */
export async function createAreas(installation: Installation): Promise<Area[]> {
  const { registry, packs } = installation;
  const guides = await loadGuides(installation);
  const guidesFor = (scope: Scope): Section[] =>
    GUIDES.filter((group) => group.scope === scope).map(({ title, names }) => ({
      title,
      pages: names.flatMap((name) => guides.get(name) ?? []),
    }));
  const [start, texts, ...others] = guidesFor('customers');
  const inner = [start, texts, ...(await toolSections(installation)), ...others].filter(
    (section) => section !== undefined,
  );
  const [first, ...rest] = withFirst(overviewPage(inner), inner);
  const all = { title: first?.title ?? '', pages: [...(first?.pages ?? []), toolsPage(registry, packs)] };
  const operators = guidesFor('operators');
  return [
    { title: 'Documentation', path: '/docs', scope: 'customers', sections: [all, ...rest] },
    {
      title: 'API reference',
      path: REFERENCE_PATH,
      scope: 'customers',
      sections: referenceSections(installation),
    },
    {
      title: 'For operators',
      path: '/docs/self-hosting',
      scope: 'operators',
      sections: withFirst(operatorsPage(operators), operators),
    },
  ];
}
