import { compareText, type PdfText, type TextComparison } from '../office/compareText.ts';
import type { SourceText } from '../office/sourceText.ts';
import { withoutWarnings } from '../pdf/withoutWarnings.ts';

const { getDocument, VerbosityLevel } = await withoutWarnings(
  () => import('pdfjs-dist/legacy/build/pdf.mjs'),
);

/** Reads the text of a PDF, and which fonts draw it. */
async function readText(data: Uint8Array): Promise<PdfText> {
  const task = getDocument({ data, verbosity: VerbosityLevel.ERRORS, useWorkerFetch: false });
  try {
    const document = await task.promise;
    const pages: string[] = [];
    const pieces = new Map<string, string[]>();
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent({ disableNormalization: true });
      pages.push(
        items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join(''),
      );
      for (const item of items) {
        if (!('str' in item)) continue;
        const drawn = pieces.get(item.fontName) ?? [];
        pieces.set(item.fontName, drawn);
        drawn.push(item.str);
      }
      page.cleanup();
    }
    return { pages, fonts: [...pieces.values()].map((drawn) => drawn.join('')) };
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
  return compareText(text, await withoutWarnings(() => readText(new Uint8Array(pdf))));
}
