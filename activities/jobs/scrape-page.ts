import { MAX_HEADINGS, MAX_IMAGES, MAX_LINKS, TEXT_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/web-scrape.ts';
import { findArticle } from '../html/article.ts';
import type { Page } from '../html/download.ts';
import { findLinks } from '../html/links.ts';
import { type LoadedPage, loadPage } from '../html/load.ts';
import { toMarkdown } from '../html/markdown.ts';
import { findMatches } from '../html/matches.ts';
import { readMeta } from '../html/meta.ts';
import { findHeadings, findImages } from '../html/outline.ts';
import { htmlText, pageText } from '../html/text.ts';
import { countWords, truncateText } from '../html/words.ts';
import { type EncodedOutput, encodeOutput } from '../runtime/encodedOutput.ts';

interface ScrapeInput {
  page: Page;
  selector: string | null;
  includeText: boolean;
  content: 'page' | 'main';
  format: 'text' | 'markdown';
}

/** The content of a page as plain text, and a function that returns the same content as Markdown. */
interface Content {
  text: string;
  markdown(): string;
}

function contentOf(loaded: LoadedPage, content: ScrapeInput['content']): Content {
  if (content === 'page')
    return { text: pageText(loaded), markdown: () => toMarkdown(loaded.$('body').html() ?? '') };
  const html = findArticle(loaded)?.innerHTML ?? '';
  return { text: htmlText(html), markdown: () => toMarkdown(html) };
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
  const { text, markdown } = contentOf(loaded, content);
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
    text: includeText ? truncateText(format === 'markdown' ? markdown() : text, TEXT_CODE_POINTS) : null,
    wordCount: countWords(text),
  });
}
