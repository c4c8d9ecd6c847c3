import type { Page } from '../html/download.ts';
import { hasFragment, readAnchors } from '../html/fragments.ts';
import { loadPage } from '../html/load.ts';

/** Returns the fragments that match no element of a page. @throws ServiceError source_too_large if it has too many nodes */
export default function missingFragments({ page, fragments }: { page: Page; fragments: string[] }): string[] {
  const anchors = readAnchors(loadPage(page));
  const { hostname } = new URL(page.url);
  return fragments.filter((fragment) => !hasFragment(anchors, fragment, hostname));
}
