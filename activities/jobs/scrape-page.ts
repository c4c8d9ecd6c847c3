import { MAX_LINKS, TEXT_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/web-scrape.ts';
import { findContent } from '../html/content/findContent.ts';
import type { PageType } from '../html/content/model.ts';
import type { Page } from '../html/download.ts';
import { findLinks } from '../html/links.ts';
import { type LoadedPage, loadPage } from '../html/load.ts';
import { toMarkdown } from '../html/markdown.ts';
import { findMatches } from '../html/matches.ts';
import { readMeta } from '../html/meta.ts';
import { findHeadings, findImages } from '../html/outline.ts';
import { pageText, textOf } from '../html/text.ts';
import { countWords, truncateText } from '../html/words.ts';
import { type EncodedOutput, encodeOutput } from '../runtime/encodedOutput.ts';

interface ScrapeInput {
  page: Page;
  selector: string | null;
  includeText: boolean;
  content: 'page' | 'main';
  format: 'text' | 'markdown';
}

/** The text of a page or of its main content, and a function that returns the same as Markdown. */
interface Part {
  pageType: PageType | null;
  confidence: number | null;
  text: string;
  markdown(): string;
}

function partOf(loaded: LoadedPage, content: ScrapeInput['content']): Part {
  const { $, base } = loaded;
  const body = $('body').contents().toArray();
  if (content === 'page')
    return {
      pageType: null,
      confidence: null,
      text: pageText(loaded),
      markdown: () => toMarkdown(body, { base, limit: TEXT_CODE_POINTS }),
    };
  const { pageType, confidence, texts, extra } = findContent(loaded);
  return {
    pageType,
    confidence,
    text: [textOf(loaded, texts), ...extra].filter((text) => text !== '').join('\n\n'),
    markdown: () =>
      toMarkdown(body, { base, keeps: (text) => texts.has(text), extra, limit: TEXT_CODE_POINTS }),
  };
}

/** Returns the output of web-scrape. @throws ServiceError source_too_large when the page has too many nodes */
export default function scrapePage({
  page,
  selector,
  includeText,
  content,
  format,
}: ScrapeInput): EncodedOutput {
  const loaded = loadPage(page);
  const { title, description, canonical, openGraph } = readMeta(loaded);
  const { text, markdown, pageType, confidence } = partOf(loaded, content);
  return encodeOutput<ToolOutput<typeof definition>>({
    finalUrl: page.url,
    statusCode: page.statusCode,
    title,
    metaDescription: description,
    canonical,
    headings: findHeadings(loaded),
    links: findLinks(loaded, MAX_LINKS).links,
    images: findImages(loaded),
    openGraph,
    selectorMatches: selector === null ? null : findMatches(loaded, selector),
    text: includeText ? truncateText(format === 'markdown' ? markdown() : text, TEXT_CODE_POINTS) : null,
    wordCount: countWords(text),
    pageType,
    confidence,
  });
}
