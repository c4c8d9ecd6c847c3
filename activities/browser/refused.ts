import type { Requests } from './requests.ts';

/** Hosts that Chromium itself still contacts in spite of its flags. */
const OWN_HOSTS = /(^|\.)(google|googleapis|gstatic|gvt1|googleusercontent)\.com$/;

/** Number of requests of a page that the proxy refused. */
export function countRefused(
  refused: ReadonlyMap<string, number>,
  { hosts, secureFrames }: Pick<Requests, 'hosts' | 'secureFrames'>,
): number {
  const counts = [...refused]
    .filter(([host]) => hosts.has(host) || !OWN_HOSTS.test(host))
    .map(([host, count]) => {
      // Chromium tries a tunnel twice for the document of a frame, and once for any other request.
      const frames = secureFrames.get(host) ?? 0;
      return Math.max(count - frames, frames);
    });
  return counts.reduce((sum, count) => sum + count, 0);
}
