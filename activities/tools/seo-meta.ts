import type { ToolInput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/seo-meta.ts';
import { readPage } from '../html/read.ts';
import type readPageMeta from '../jobs/read-page-meta.ts';
import type { NetworkContext } from '../runtime/context.ts';
import type { EncodedOutput } from '../runtime/encodedOutput.ts';

/** Reads a page's metadata for search engines, whatever its HTTP status. */
export async function run(
  { url }: ToolInput<typeof definition>,
  context: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<EncodedOutput> {
  return readPage(url, context, definition.limits.workMs, (page, options) =>
    context.offload<typeof readPageMeta>('read-page-meta', { page }, options),
  );
}
