import { ServiceError } from '../../schemas/errors.ts';
import type { Part } from '../../schemas/formats/also.ts';
import { describe, describeOwn, readChain } from '../certificates/chain.ts';
import { PAGE_BYTES } from '../html/download.ts';
import type readPageParts from '../jobs/read-page-parts.ts';
import type { NetworkContext } from '../runtime/context.ts';
import { findClosedRoots } from './closedRoots.ts';
import { documentHtml } from './page/documentHtml.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

/** Parts of a loaded page; those that were not asked for are null. */
type Parts = Awaited<ReturnType<typeof readPageParts>> & {
  certificate: Awaited<ReturnType<typeof readCertificate>>;
};

/** Time limit in milliseconds for the browser to return the document, which can be large. */
const DOCUMENT_MS = 5_000;
const ANSWER_MS = 3_000;
const NOTHING = { text: null, links: null, metadata: null };

const tooLarge = () =>
  new ServiceError('source_too_large', {
    detail: `The document has more than ${PAGE_BYTES / 2 ** 20} MB of HTML, so that its parts cannot be read.`,
  });

/** Returns the document as the browser has it, as UTF-8. @throws ServiceError source_too_large, deadline_exceeded */
async function readDocument({ client, world }: Pick<RenderPage, 'client' | 'world'>): Promise<Buffer> {
  await findClosedRoots(client, world);
  const html = await tryFor(world.evaluate(documentHtml, PAGE_BYTES), DOCUMENT_MS);
  if (html === undefined) throw new ServiceError('deadline_exceeded');
  if (html === null) throw tooLarge();
  const bytes = Buffer.from(html);
  if (bytes.length > PAGE_BYTES) throw tooLarge();
  return bytes;
}

/** Describes the certificate of the connection over which the page came; null if there is none. @throws ServiceError target_failed */
async function readCertificate({ page, client }: Pick<RenderPage, 'page' | 'client'>) {
  const { protocol, origin } = new URL(page.url());
  if (protocol !== 'https:') return null;
  const found = await tryFor(client.send('Network.getCertificate', { origin }), ANSWER_MS);
  if (found === undefined || found.tableNames.length === 0) return null;
  const { leaf, issuers, names } = readChain(found.tableNames.map((der) => Buffer.from(der, 'base64')));
  return { ...describeOwn(leaf, names), chain: issuers.map(describe) };
}

/**
 * Reads parts of the page that the browser shows, with the code of the tools that return the same.
 *
 * @param statusCode HTTP status of the page; null if no response gave one
 * @throws ServiceError source_too_large, deadline_exceeded, target_failed
 */
export async function readParts(
  renderPage: RenderPage,
  parts: readonly Part[],
  statusCode: number | null,
  { offload, signal, deadline }: Pick<NetworkContext, 'offload' | 'signal' | 'deadline'>,
): Promise<Parts> {
  const certificate = parts.includes('certificate') ? await readCertificate(renderPage) : null;
  const ofDocument = parts.filter((part) => part !== 'certificate');
  if (ofDocument.length === 0) return { ...NOTHING, certificate };
  const page = {
    url: renderPage.page.url().replace(/#.*/s, ''),
    statusCode: statusCode ?? 200,
    contentType: 'text/html; charset=utf-8',
    bytes: await readDocument(renderPage),
  };
  const read = await offload<typeof readPageParts>(
    'read-page-parts',
    { page, parts: ofDocument },
    { signal, deadline },
  );
  return { ...read, certificate };
}
