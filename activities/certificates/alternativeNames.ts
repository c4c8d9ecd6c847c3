import { isUtf8 } from 'node:buffer';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Certificate, id_ce_subjectAltName } from '@peculiar/asn1-x509';
import { fromBER, Primitive, Sequence } from 'asn1js';
import ipaddr from 'ipaddr.js';

/** ASN.1 tags of the kinds of GeneralName that are read (RFC 5280 section 4.2.1.6). The seven other kinds are ignored. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;
const CONTEXT_SPECIFIC = 3;

export interface AlternativeName {
  kind: 'dns' | 'ip';
  value: string;
}

function read(tag: number, bytes: Buffer): AlternativeName | null {
  // DNS names should be ASCII, but some certificates contain other bytes.
  if (tag === DNS_NAME) return { kind: 'dns', value: bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1') };
  if (tag === IP_ADDRESS && (bytes.length === 4 || bytes.length === 16))
    return { kind: 'ip', value: ipaddr.fromByteArray([...bytes]).toString() };
  return null;
}

/**
 * Returns the DNS names and IP addresses in a certificate's subjectAltName extension, in their order. Reads the DER encoding
 * because the text formats of OpenSSL and Node do not distinguish commas in names from separators.
 *
 * @throws Error when the extension cannot be parsed
 */
export function alternativeNames(der: Buffer): AlternativeName[] {
  const { extensions = [] } = AsnConvert.parse(der, Certificate).tbsCertificate;
  const extension = extensions.find(({ extnID }) => extnID === id_ce_subjectAltName);
  if (extension === undefined) return [];
  // Parsed without the library's GeneralName schema, which rejects the whole extension if one name is of a rare kind.
  const { result: names } = fromBER(extension.extnValue.buffer);
  if (!(names instanceof Sequence)) throw new TypeError('the extension is not a sequence of names');
  return names.valueBlock.value.flatMap((name) => {
    const { tagClass, tagNumber } = name.idBlock;
    if (!(name instanceof Primitive) || tagClass !== CONTEXT_SPECIFIC) return [];
    return read(tagNumber, Buffer.from(name.valueBlock.valueHexView)) ?? [];
  });
}
