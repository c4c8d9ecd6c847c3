import type { Page } from '../html/download.ts';
import { findLinks, type Link } from '../html/links.ts';
import { loadPage } from '../html/load.ts';

interface PageLinks {
  /** Different addresses that the page links to. */
  total: number;
  /** The first of them in the order of the document. */
  links: Link[];
}

/** The links of a page. @throws ServiceError source_too_large for a page of too many nodes */
export default function pageLinks({ page, limit }: { page: Page; limit: number }): PageLinks {
  return findLinks(loadPage(page), limit);
}
