import type { Part } from '../../schemas/formats/also.ts';
import { MAX_LINKS, TEXT_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { Page } from '../html/download.ts';
import { findLinks, type Link } from '../html/links.ts';
import { loadPage } from '../html/load.ts';
import { readMetadata } from '../html/metadata.ts';
import { pageText } from '../html/text.ts';
import { truncateText } from '../html/words.ts';

/** The parts of a page that were asked for; the others are null. */
interface PageParts {
  text: string | null;
  links: Link[] | null;
  metadata: ReturnType<typeof readMetadata> | null;
}

/** Reads parts of a page. @throws ServiceError source_too_large when the page has too many nodes */
export default function readPageParts({ page, parts }: { page: Page; parts: readonly Part[] }): PageParts {
  const loaded = loadPage(page);
  return {
    text: parts.includes('text') ? truncateText(pageText(loaded), TEXT_CODE_POINTS) : null,
    links: parts.includes('links') ? findLinks(loaded, MAX_LINKS).links : null,
    metadata: parts.includes('metadata') ? readMetadata(loaded) : null,
  };
}
