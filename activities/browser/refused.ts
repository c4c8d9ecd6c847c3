import type { Requests } from './requests.ts';

/** Where Chromium goes on its own account, whatever is left of that after its flags. */
const OWN_HOSTS = /(^|\.)(google|googleapis|gstatic|gvt1|googleusercontent)\.com$/;

/** How many requests of a page the proxy refused. */
export function countRefused(
  refused: ReadonlyMap<string, number>,
  { hosts, secureFrames }: Pick<Requests, 'hosts' | 'secureFrames'>,
): number {
  const counts = [...refused]
    .filter(([host]) => hosts.has(host) || !OWN_HOSTS.test(host))
    .map(([host, count]) => {
      // For what fills a frame Chromium tries a tunnel twice, for anything else once.
      const frames = secureFrames.get(host) ?? 0;
      return Math.max(count - frames, frames);
    });
  return counts.reduce((sum, count) => sum + count, 0);
}
