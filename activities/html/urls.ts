/** Longer URLs are not used in practice. Resolving many relative URLs against a long base would exhaust the memory. */
const MAX_URL_LENGTH = 4096;

/** Resolves a URL of the page. Returns null if it is invalid, too long, or neither http nor https. */
export function resolveUrl(text: string | undefined, base: string): URL | null {
  if (text === undefined || text.length > MAX_URL_LENGTH) return null;
  const url = URL.parse(text, base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return url.href.length > MAX_URL_LENGTH ? null : url;
}
