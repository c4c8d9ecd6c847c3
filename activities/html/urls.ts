/** Longer ones are no addresses that anybody uses, and many relative ones to a long base would fill the memory. */
const URL_CHARACTERS = 4096;

/** What an attribute of the page leads to; null unless that is an http or https URL of a sensible length. */
export function resolveUrl(text: string | undefined, base: string): URL | null {
  if (text === undefined || text.length > URL_CHARACTERS) return null;
  const url = URL.parse(text, base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  return url.href.length > URL_CHARACTERS ? null : url;
}
