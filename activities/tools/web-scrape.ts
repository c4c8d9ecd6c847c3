import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/web-scrape.ts';
import type { NetworkContext } from '../context.ts';
import { readPage } from '../html/read.ts';

/** Reads one page, whatever status it comes with. */
export async function run(
  { url, selector, includeText }: ToolInput<typeof definition>,
  context: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<ToolOutput<typeof definition>> {
  const page = await readPage(url, selector ?? null, context, definition.limits.workMs);
  return {
    finalUrl: page.finalUrl,
    statusCode: page.statusCode,
    title: page.title,
    metaDescription: page.description,
    canonical: page.canonical,
    headings: page.headings,
    links: page.links,
    images: page.images,
    openGraph: page.openGraph,
    selectorMatches: page.selectorMatches,
    text: includeText ? page.text : null,
    wordCount: page.wordCount,
  };
}
