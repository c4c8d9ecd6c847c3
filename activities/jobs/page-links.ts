import type { Page } from '../html/download.ts';
import { findLinks, type Link } from '../html/links.ts';
import { loadPage } from '../html/load.ts';

interface PageLinks {
  /** Number of different URLs that the page links to. */
  total: number;
  /** The first `limit` links, in document order. */
  links: Link[];
}

/** Returns the links of a page. @throws ServiceError source_too_large when the page has too many nodes */
export default function pageLinks({
  page,
  limit,
  keepFragments,
}: {
  page: Page;
  limit: number;
  keepFragments: boolean;
}): PageLinks {
  return findLinks(loadPage(page), limit, keepFragments);
}
