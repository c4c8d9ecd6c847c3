import type { Page } from '../html/download.ts';
import { loadPage } from '../html/load.ts';
import { findRefresh } from '../html/refresh.ts';

/** Returns the URL that a browser opens at once instead of a page, or null. */
export default ({ page, header }: { page: Page; header: string | null }): string | null =>
  findRefresh(loadPage(page), header);
