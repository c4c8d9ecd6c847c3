/**
 * Longest accepted URL in characters; web pages hardly contain longer ones. Without a limit, resolving many relative
 * URLs against a long base URL would exhaust the memory.
 */
const MAX_URL_LENGTH = 4096;

/**
 * Resolves a URL that a page contains. Returns null if the URL is missing, invalid, too long, or neither http nor
 * https.
 */
export function resolveUrl(text: string | undefined, base: string): URL | null {
  if (text === undefined || text.length > MAX_URL_LENGTH) return null;
  const url = URL.parse(text, base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return url.href.length > MAX_URL_LENGTH ? null : url;
}
