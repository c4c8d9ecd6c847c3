import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/broken-links.ts';
import { downloadPage } from '../html/download.ts';
import type pageLinks from '../jobs/page-links.ts';
import { checkLinks, mayRecover } from '../links/check.ts';
import type { LinkReport } from '../links/explain.ts';
import { mapConcurrent } from '../links/mapConcurrent.ts';
import type { NetworkContext } from '../runtime/context.ts';

/** Number of links that are checked at the same time, as the tool's description states. */
const CONCURRENCY = 5;
const PAGE_MS = 15_000;
const LINK_MS = 10_000;
/** Time limit of the second request for a link, in milliseconds. These requests are sent at the same time. */
const SECOND_MS = 20_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 200;

/** Downloads a page and checks its links. */
export async function run(
  { url, maxLinks, checkFragments }: ToolInput<typeof definition>,
  { egress, offload, signal, deadline }: Pick<NetworkContext, 'egress' | 'offload' | 'signal' | 'deadline'>,
): Promise<ToolOutput<typeof definition>> {
  const startedAt = performance.now();
  const end = Math.min(deadline, Date.now() + definition.limits.workMs) - MARGIN_MS;
  const deadlineIn = (ms: number): number => Math.min(end, Date.now() + ms);
  const page = await downloadPage(url, { egress, signal, deadline: deadlineIn(PAGE_MS) });
  const { total, links } = await offload<typeof pageLinks>(
    'page-links',
    { page, limit: maxLinks, keepFragments: checkFragments },
    { signal, deadline: deadlineIn(PAGE_MS) },
  );
  const byUrl = [...Map.groupBy(links, ({ url: href }) => href.replace(/#.*$/s, ''))];
  const checkAll = (groups: typeof byUrl, concurrency: number, ms: number): Promise<LinkReport[][]> =>
    mapConcurrent(groups, concurrency, signal, async ([href, same], linkSignal) => {
      if (Date.now() >= end) return [];
      const linkDeadline = deadlineIn(ms);
      try {
        const options = { egress, offload, signal: linkSignal, deadline: linkDeadline };
        const checked = await checkLinks(href, same, options);
        // A link is not reported as timed out if the end of the call cut its time short.
        return checked.filter(({ reason }) => reason !== 'timeout' || linkDeadline !== end);
      } catch (error) {
        if (!linkSignal.aborted && error instanceof ServiceError && error.code === 'deadline_exceeded')
          return [];
        throw error;
      }
    });
  const first = await checkAll(byUrl, CONCURRENCY, LINK_MS);
  const doubtful = byUrl.filter((_, index) => first[index]?.some(mayRecover));
  const second = await checkAll(doubtful, Math.max(1, doubtful.length), SECOND_MS);
  const found = new Map([...first, ...second].flat().map((report) => [report.url, report]));
  const checked = links.flatMap((link) => found.get(link.url) ?? []);
  return {
    url: page.url,
    totalFound: total,
    checked: checked.length,
    links: checked,
    elapsedMs: Math.round(performance.now() - startedAt),
  };
}
