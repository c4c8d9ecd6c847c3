/** Where Chromium goes on its own account, whatever is left of that after its flags. */
const OWN_HOSTS = /(^|\.)(google|googleapis|gstatic|gvt1|googleusercontent)\.com$/;

/**
 * How many requests of a page the proxy refused.
 *
 * @param asked hosts that the page is known to have asked for
 */
export function countRefused(refused: ReadonlyMap<string, number>, asked: ReadonlySet<string>): number {
  return [...refused]
    .filter(([host]) => asked.has(host) || !OWN_HOSTS.test(host))
    .reduce((sum, [, count]) => sum + count, 0);
}
