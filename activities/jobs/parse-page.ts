import { MAX_HEADINGS, MAX_IMAGES, MAX_LINKS, TEXT_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { Page } from '../html/download.ts';
import { findLinks, type Link } from '../html/links.ts';
import { loadPage } from '../html/load.ts';
import { findMatches } from '../html/matches.ts';
import { type PageMeta, readMeta } from '../html/meta.ts';
import { findHeadings, findImages, type Heading, type Image } from '../html/outline.ts';
import { pageText } from '../html/text.ts';
import { countWords, cutText } from '../html/words.ts';

interface PageContent extends PageMeta {
  headings: Heading[];
  links: Link[];
  images: Image[];
  /** Null without a selector. */
  selectorMatches: string[] | null;
  text: string;
  /** Of the text before it was cut. */
  wordCount: number;
}

/** What is in a page. @throws ServiceError source_too_large for a page of too many nodes */
export default function parsePage({ page, selector }: { page: Page; selector: string | null }): PageContent {
  const loaded = loadPage(page);
  const text = pageText(loaded);
  return {
    ...readMeta(loaded),
    headings: findHeadings(loaded, MAX_HEADINGS),
    links: findLinks(loaded, MAX_LINKS).links,
    images: findImages(loaded, MAX_IMAGES),
    selectorMatches: selector === null ? null : findMatches(loaded, selector),
    text: cutText(text, TEXT_CODE_POINTS),
    wordCount: countWords(text),
  };
}
