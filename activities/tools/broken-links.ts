import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/broken-links.ts';
import type { NetworkContext } from '../context.ts';
import { downloadPage } from '../html/download.ts';
import type pageLinks from '../jobs/page-links.ts';
import { checkLink } from '../links/check.ts';
import { inLanes } from '../links/lanes.ts';

/** The specification's. */
const AT_ONCE = 5;
const PAGE_MS = 15_000;
const LINK_MS = 10_000;
/** Left for the answer to be written before the attempt itself is out of time. */
const MARGIN_MS = 200;

/** Downloads a page and asks for what it links to. */
export async function run(
  { url, maxLinks }: ToolInput<typeof definition>,
  { egress, offload, signal, deadline }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<ToolOutput<typeof definition>> {
  const startedAt = performance.now();
  const end = Math.min(deadline, Date.now() + definition.limits.workMs) - MARGIN_MS;
  const within = (ms: number): number => Math.min(end, Date.now() + ms);
  const page = await downloadPage(url, { egress, signal, deadline: within(PAGE_MS) });
  const { total, links } = await offload<typeof pageLinks>(
    'page-links',
    { page, limit: maxLinks },
    { signal, deadline: within(PAGE_MS) },
  );
  const reports = await inLanes(links, AT_ONCE, signal, async (link, lane) => {
    if (Date.now() >= end) return null;
    const report = await checkLink(link, { egress, signal: lane, deadline: within(LINK_MS) });
    // What ended with the whole call says nothing about the link.
    return report.reason === 'timeout' && Date.now() >= end ? null : report;
  });
  const checked = reports.filter((report) => report !== null);
  return {
    url: page.url,
    totalFound: total,
    checked: checked.length,
    links: checked,
    elapsedMs: Math.round(performance.now() - startedAt),
  };
}
