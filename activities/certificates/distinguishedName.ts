import type { X509Certificate } from 'node:crypto';
import { type BaseBlock, fromBER, Sequence, Set as SetOf } from 'asn1js';

/** The distinguished names of a certificate in the format of RFC 4514, with the most specific part first. */
interface DistinguishedNames {
  issuer: string;
  subject: string;
}

const UNIVERSAL = 1;
const CONTEXT_SPECIFIC = 3;
/**
 * ASN.1 tags of the types that OpenSSL prints as text: UTF8, Numeric, Printable, Teletex, IA5, UTCTime, GeneralizedTime,
 * Visible, Universal and BMP.
 */
const TEXT_TAGS: ReadonlySet<number> = new Set([12, 18, 19, 20, 22, 23, 24, 26, 28, 30]);
const DOTTED = /^\d+(?:\.\d+)+$/;

const children = (block: BaseBlock | undefined): BaseBlock[] =>
  block instanceof Sequence || block instanceof SetOf ? block.valueBlock.value : [];

/** Finds issuer and subject in a DER certificate. Only the version before them is optional (RFC 5280 section 4.1). */
function readNames(der: Buffer): { issuer: BaseBlock | undefined; subject: BaseBlock | undefined } {
  const fields = children(children(fromBER(der).result)[0]);
  const first = fields[0]?.idBlock.tagClass === CONTEXT_SPECIFIC ? 1 : 0;
  return { issuer: fields[first + 2], subject: fields[first + 4] };
}

/** Formats one attribute. Values of unknown type or without text become `#` and their DER in hex (RFC 4514 section 2.4). */
function formatAttribute(text: string, attribute: BaseBlock | undefined): string {
  const value = children(attribute)[1];
  if (value === undefined) return text;
  const type = text.slice(0, text.indexOf('='));
  const isText = value.idBlock.tagClass === UNIVERSAL && TEXT_TAGS.has(value.idBlock.tagNumber);
  if (isText && !DOTTED.test(type)) return text;
  return `${type}=#${Buffer.from(value.valueBeforeDecodeView).toString('hex').toUpperCase()}`;
}

/**
 * Formats one distinguished name.
 *
 * @param text the name as X509Certificate returns it: one part per line, in the order of the certificate. Special and
 *   control characters are escaped, so that line breaks only separate parts. undefined when the name is empty
 * @param name the same name in DER
 */
function format(text: string | undefined, name: BaseBlock | undefined): string {
  const parts = children(name);
  return (text ?? '')
    .split('\n')
    .map((part, index) => {
      const attributes = children(parts[index]);
      return part
        .split(' + ')
        .map((attribute, at) => formatAttribute(attribute, attributes[at]))
        .reverse()
        .join('+');
    })
    .reverse()
    .join(',');
}

export function distinguishedNames({ raw, issuer, subject }: X509Certificate): DistinguishedNames {
  const names = readNames(raw);
  return { issuer: format(issuer, names.issuer), subject: format(subject, names.subject) };
}
