/** A reason that a DNS server gives for a failure (RFC 8914). */
export interface ExtendedError {
  code: number;
  text: string;
}

const EXTENDED_ERROR = 15;
const OPTION_HEAD = 4;
/** Maximum length of a server's text that is read, and of it in characters that is passed on. */
const TEXT_BYTES = 1000;
const TEXT_LENGTH = 200;

/** Names of the codes, in their order from 0 (IANA, "Extended DNS Error Codes"). */
const NAMES = [
  ...['Other Error', 'Unsupported DNSKEY Algorithm', 'Unsupported DS Digest Type', 'Stale Answer'],
  ...[
    'Forged Answer',
    'DNSSEC Indeterminate',
    'DNSSEC Bogus',
    'Signature Expired',
    'Signature Not Yet Valid',
  ],
  ...['DNSKEY Missing', 'RRSIGs Missing', 'No Zone Key Bit Set', 'NSEC Missing', 'Cached Error', 'Not Ready'],
  ...['Blocked', 'Censored', 'Filtered', 'Prohibited', 'Stale NXDOMAIN Answer', 'Not Authoritative'],
  ...['Not Supported', 'No Reachable Authority', 'Network Error', 'Invalid Data'],
  ...['Signature Expired before Valid', 'Too Early', 'Unsupported NSEC3 Iterations Value'],
  ...['Unable to conform to policy', 'Synthesized', 'Invalid Query Type'],
];

/** Reads the extended errors among the options of an OPT record; options that are cut off end the list. */
export function readExtendedErrors(options: Buffer): ExtendedError[] {
  const errors: ExtendedError[] = [];
  for (let at = 0; at + OPTION_HEAD <= options.length; ) {
    const end = at + OPTION_HEAD + options.readUInt16BE(at + 2);
    if (end > options.length) break;
    if (options.readUInt16BE(at) === EXTENDED_ERROR && end >= at + OPTION_HEAD + 2)
      errors.push({
        code: options.readUInt16BE(at + OPTION_HEAD),
        text: options.toString('utf8', at + OPTION_HEAD + 2, Math.min(end, at + TEXT_BYTES)),
      });
    at = end;
  }
  return errors;
}

/** An extended error in words: its code, its name, and the text of the server. */
export function explainError({ code, text }: ExtendedError): string {
  const name = NAMES[code] === undefined ? '' : ` (${NAMES[code]})`;
  const clean = text.replace(/\p{C}+/gu, ' ').trim();
  return `extended DNS error ${code}${name}${clean === '' ? '' : `: ${clean.slice(0, TEXT_LENGTH)}`}`;
}
