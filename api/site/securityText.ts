import { mailto, type Operator } from '../operator.ts';

const DAY_MS = 86_400_000;
/** Days until the file must be fetched again; RFC 9116, section 2.5.5, recommends less than a year. */
const VALID_DAYS = 180;

/**
 * Writes `/.well-known/security.txt` (RFC 9116). Its URLs must begin with https, so that an installation without TLS has none.
 *
 * @param baseUrl URL of the site, without a trailing slash
 */
export function securityText(
  { securityEmail }: Pick<Operator, 'securityEmail'>,
  baseUrl: string,
  now: Date,
): string {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const expires = new Date(today + VALID_DAYS * DAY_MS).toISOString();
  const urls = [`Canonical: ${baseUrl}/.well-known/security.txt`, `Policy: ${baseUrl}/docs/security`];
  return [
    `Contact: ${mailto(securityEmail)}`,
    `Expires: ${expires.replace('.000', '')}`,
    'Preferred-Languages: en',
    ...(baseUrl.startsWith('https://') ? urls : []),
    '',
  ].join('\n');
}
