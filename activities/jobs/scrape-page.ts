import { MAX_HEADINGS, MAX_IMAGES, MAX_LINKS, TEXT_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/web-scrape.ts';
import type { Page } from '../html/download.ts';
import { findLinks } from '../html/links.ts';
import { loadPage } from '../html/load.ts';
import { findMatches } from '../html/matches.ts';
import { readMeta } from '../html/meta.ts';
import { findHeadings, findImages } from '../html/outline.ts';
import { pageText } from '../html/text.ts';
import { countWords, truncateText } from '../html/words.ts';
import { type EncodedOutput, encodeOutput } from '../runtime/encodedOutput.ts';

interface ScrapeInput {
  page: Page;
  selector: string | null;
  includeText: boolean;
}

/** Returns the output of web-scrape. @throws ServiceError source_too_large when the page has too many nodes */
export default function scrapePage({ page, selector, includeText }: ScrapeInput): EncodedOutput {
  const loaded = loadPage(page);
  const { title, description, canonical, openGraph } = readMeta(loaded);
  const text = pageText(loaded);
  return encodeOutput<ToolOutput<typeof definition>>({
    finalUrl: page.url,
    statusCode: page.statusCode,
    title,
    metaDescription: description,
    canonical,
    headings: findHeadings(loaded, MAX_HEADINGS),
    links: findLinks(loaded, MAX_LINKS).links,
    images: findImages(loaded, MAX_IMAGES),
    openGraph,
    selectorMatches: selector === null ? null : findMatches(loaded, selector),
    text: includeText ? truncateText(text, TEXT_CODE_POINTS) : null,
    wordCount: countWords(text),
  });
}
