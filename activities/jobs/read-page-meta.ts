import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/seo-meta.ts';
import type { Page } from '../html/download.ts';
import { loadPage } from '../html/load.ts';
import { readMetadata } from '../html/metadata.ts';
import { type EncodedOutput, encodeOutput } from '../runtime/encodedOutput.ts';

/** Returns the output of seo-meta. @throws ServiceError source_too_large when the page has too many nodes */
export default function readPageMeta({ page }: { page: Page }): EncodedOutput {
  return encodeOutput<ToolOutput<typeof definition>>({ url: page.url, ...readMetadata(loadPage(page)) });
}
