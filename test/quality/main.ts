import { writeFile } from 'node:fs/promises';
import { installTestPrograms } from '../../dev/programs/tools.ts';
import { compareArticles } from './articles.ts';
import { compareScans } from './cipherScan.ts';
import { compareFragments } from './fragments.ts';
import { compareOverlays } from './overlays.ts';
import { comparePdfMetadata } from './pdfMetadata.ts';
import type { Report } from './report.ts';
import { compareText } from './text.ts';
import { compareUpscaling } from './upscale.ts';

interface Section {
  about: string;
  /** Arguments, with what they are; those in brackets can be missing. */
  args: string;
  compare: (...args: string[]) => Report | Promise<Report>;
}

/** The comparisons with other programs. Some need data that the project does not have. */
const SECTIONS: Readonly<Record<string, Section>> = {
  upscale: {
    about: 'image-upscale with Lanczos',
    args: '',
    compare: () => compareUpscaling(),
  },
  text: {
    about: 'the text of web-scrape with that of Chromium',
    args: '<folder of .html files>',
    compare: (folder = '') => compareText(folder),
  },
  articles: {
    about: "the main content of web-scrape with Zyte's article-extraction-benchmark",
    args: '<folder of the benchmark> [Python that has Trafilatura]',
    compare: (folder = '', python) => compareArticles(folder, python),
  },
  cipherScan: {
    about: 'the cipher scan of ssl-check with testssl.sh',
    args: '[file that keeps the results] [regular expression for the servers to compare]',
    compare: (file, pattern = '') => compareScans(file, new RegExp(pattern)),
  },
  pdfMetadata: {
    about: 'pdf-metadata with pdfinfo, qpdf, mutool and pikepdf',
    args: '<folder of PDFs>',
    compare: (folder = '') => comparePdfMetadata(folder),
  },
  fragments: {
    about: 'checkFragments of broken-links with lychee and Chromium',
    args: '[folder of further .html files]',
    compare: (folder) => compareFragments(folder),
  },
  overlays: {
    about: 'the removal of overlays with filter lists',
    args: '[folder of further filter lists]',
    compare: (folder) => compareOverlays(folder),
  },
};

// npm run quality -- SECTION ARGUMENTS
const [name = '', ...args] = process.argv.slice(2);
const section = SECTIONS[name];
const isComplete = section !== undefined && (args.length > 0 || !section.args.startsWith('<'));
if (!isComplete) {
  const lines = Object.entries(SECTIONS).map(
    ([it, { about, args }]) => `  ${`${it} ${args}`.trim()}\n      compares ${about}`,
  );
  console.error(`Usage: npm run quality -- SECTION\n${lines.join('\n')}`);
  process.exit(2);
}
await installTestPrograms(console.log);
const { figures, document, isGood } = await section.compare(...args);
console.table(figures);
if (document !== null) await writeFile(new URL(document.name, import.meta.url), document.text);
// Ends the processes of decoders too.
process.exit(isGood ? 0 : 1);
