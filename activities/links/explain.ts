import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/broken-links.ts';

export type LinkReport = ToolOutput<typeof definition>['links'][number];
type Reason = Exclude<LinkReport['reason'], null>;

const TEXTS: Readonly<Record<Exclude<Reason, 'status' | 'blocked' | 'fragment'>, string>> = {
  refused: 'The link leads to an address or port that is not public, so it was not requested.',
  malformed: 'The host of the link is not valid.',
  dns: 'The host name does not resolve.',
  connection_refused: 'The host refuses connections.',
  reset: 'The host closed the connection before it answered.',
  unreachable: 'The host cannot be reached.',
  timeout: 'The host did not answer in time.',
  tls: 'The TLS handshake with the host failed.',
  certificate: 'The certificate of the host is not valid.',
  protocol: 'The host did not answer with valid HTTP.',
  redirects: 'The link redirects too often.',
};

/** Explains why a link is broken or could not be verified; null for a working link. */
export function explain({
  reason,
  statusCode,
  url,
}: Pick<LinkReport, 'reason' | 'statusCode' | 'url'>): string | null {
  if (reason === null) return null;
  if (reason === 'status') return `The server answered with status ${statusCode}.`;
  if (reason === 'blocked')
    return `The server answered with status ${statusCode}, which many servers send to programs but not to visitors.`;
  if (reason === 'fragment') return `The page has no element that ${new URL(url).hash} names.`;
  return TEXTS[reason];
}
