/**
 * A distinguished name as RFC 4514 writes it: the most specific part first.
 *
 * @param text of X509Certificate: a part a line in the order of the certificate, with the characters of RFC 2253
 *   escaped and control characters too, so that a line break always is the end of a part. undefined when it is empty
 */
export const distinguishedName = (text: string | undefined): string =>
  (text ?? '')
    .split('\n')
    .map((part) => part.split(' + ').reverse().join('+'))
    .reverse()
    .join(',');
