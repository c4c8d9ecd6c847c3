/** Two letters of a country, as in ISO 3166-1, and up to 13 characters, as in the VAT ids of the European Union. */
const VAT_ID = /^[A-Z]{2}[0-9A-Z+*]{2,13}$/;

/**
 * Parses a VAT id by its form only, without spaces, dots and hyphens, which are often written in it. Nobody is asked whether
 * it exists.
 *
 * @returns null if it does not have the form of a VAT id
 */
export function parseVatId(text: string): string | null {
  const compact = text.replaceAll(/[\s.-]/g, '').toUpperCase();
  return VAT_ID.test(compact) ? compact : null;
}

/** The letters with which a VAT id begins: the country code, except `EL` for Greece and `XI` for Northern Ireland. */
export const vatCountry = (vatId: string): string => vatId.slice(0, 2);
