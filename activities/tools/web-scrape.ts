import type { ToolInput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/web-scrape.ts';
import { readPage } from '../html/read.ts';
import type scrapePage from '../jobs/scrape-page.ts';
import type { NetworkContext } from '../runtime/context.ts';
import type { EncodedOutput } from '../runtime/encodedOutput.ts';

/** Extracts the content of a page, whatever its HTTP status. */
export async function run(
  { url, selector, includeText, content, format }: ToolInput<typeof definition>,
  context: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<EncodedOutput> {
  return readPage(url, context, definition.limits.workMs, (page, options) =>
    context.offload<typeof scrapePage>(
      'scrape-page',
      { page, selector: selector ?? null, includeText, content, format },
      options,
    ),
  );
}
