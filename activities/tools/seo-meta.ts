import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/seo-meta.ts';
import type { NetworkContext } from '../context.ts';
import { readPage } from '../html/read.ts';

/** Reads what one page tells search engines, whatever status it comes with. */
export async function run(
  { url }: ToolInput<typeof definition>,
  context: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<ToolOutput<typeof definition>> {
  const page = await readPage(url, null, context, definition.limits.workMs);
  const { finalUrl, title, description, canonical, robots, openGraph, twitter, headings, wordCount } = page;
  return { url: finalUrl, title, description, canonical, robots, openGraph, twitter, headings, wordCount };
}
