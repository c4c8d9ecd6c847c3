import { compareText, type TextComparison } from '../office/compareText.ts';
import type { SourceText } from '../office/sourceText.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

const { getDocument, VerbosityLevel } = await withoutWarnings(
  () => import('pdfjs-dist/legacy/build/pdf.mjs'),
);

/** Reads the text of a PDF, page by page. */
async function readPages(data: Uint8Array): Promise<string[]> {
  const task = getDocument({ data, verbosity: VerbosityLevel.ERRORS, useWorkerFetch: false });
  try {
    const document = await task.promise;
    const pages: string[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent({ disableNormalization: true });
      pages.push(
        items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join(''),
      );
      page.cleanup();
    }
    return pages;
  } finally {
    await task.destroy();
  }
}

/** Compares the text of a document with that of its PDF. */
export default async function compareTextJob({
  pdf,
  text,
}: {
  pdf: Uint8Array;
  text: SourceText;
}): Promise<TextComparison> {
  return compareText(text, await withoutWarnings(() => readPages(new Uint8Array(pdf))));
}
