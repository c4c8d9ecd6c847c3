/**
 * Formats a distinguished name by RFC 4514: most specific part first.
 *
 * @param text name from X509Certificate: one part per line in certificate order. Special and control characters are
 *   escaped, so that line breaks only separate parts. undefined when the name is empty
 */
export const distinguishedName = (text: string | undefined): string =>
  (text ?? '')
    .split('\n')
    .map((part) => part.split(' + ').reverse().join('+'))
    .reverse()
    .join(',');
