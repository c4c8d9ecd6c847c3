import type { LoadedPage } from './load.ts';
import { readMeta } from './meta.ts';
import { findHeadings } from './outline.ts';
import { pageText } from './text.ts';
import { countWords } from './words.ts';

/** Returns what a page says of itself to search engines and link previews, with its headings and the number of its words. */
export const readMetadata = (page: LoadedPage) => ({
  ...readMeta(page),
  headings: findHeadings(page),
  wordCount: countWords(pageText(page)),
});
