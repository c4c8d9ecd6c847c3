import type { Requests } from './requests.ts';

/** Google's hosts that Chromium contacts for its own purposes, despite the flags against background traffic. */
const OWN_HOSTS = /(^|\.)(google|googleapis|gstatic|gvt1|googleusercontent)\.com$/;

/**
 * Returns the number of requests of a page that the proxy refused, without those that Chromium makes for its own
 * purposes.
 */
export function countRefused(
  refused: ReadonlyMap<string, number>,
  { hosts, secureFrames }: Pick<Requests, 'hosts' | 'secureFrames'>,
): number {
  const counts = [...refused]
    .filter(([host]) => hosts.has(host) || !OWN_HOSTS.test(host))
    .map(([host, count]) => {
      // After a refusal, Chromium requests a tunnel a second time for the document of a frame, but not for other
      // requests.
      const frames = secureFrames.get(host) ?? 0;
      return Math.max(count - frames, frames);
    });
  return counts.reduce((sum, count) => sum + count, 0);
}
