import { MAX_HEADINGS } from '../../schemas/formats/pageParts.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/seo-meta.ts';
import type { Page } from '../html/download.ts';
import { loadPage } from '../html/load.ts';
import { readMeta } from '../html/meta.ts';
import { findHeadings } from '../html/outline.ts';
import { pageText } from '../html/text.ts';
import { countWords } from '../html/words.ts';
import { type EncodedOutput, encodeOutput } from '../runtime/encodedOutput.ts';

/** Returns the output of seo-meta. @throws ServiceError source_too_large when the page has too many nodes */
export default function readPageMeta({ page }: { page: Page }): EncodedOutput {
  const loaded = loadPage(page);
  return encodeOutput<ToolOutput<typeof definition>>({
    url: page.url,
    ...readMeta(loaded),
    headings: findHeadings(loaded, MAX_HEADINGS),
    wordCount: countWords(pageText(loaded)),
  });
}
