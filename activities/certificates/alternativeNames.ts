import { isUtf8 } from 'node:buffer';
import { AsnConvert } from '@peculiar/asn1-schema';
import { Certificate, id_ce_subjectAltName } from '@peculiar/asn1-x509';
import { fromBER, Primitive, Sequence } from 'asn1js';
import ipaddr from 'ipaddr.js';

/** Choices of GeneralName (RFC 5280 section 4.2.1.6); it has seven more. */
const DNS_NAME = 2;
const IP_ADDRESS = 7;
const CONTEXT_SPECIFIC = 3;

function read(tag: number, bytes: Buffer): string | null {
  // It ought to be ASCII.
  if (tag === DNS_NAME) return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  if (tag === IP_ADDRESS && (bytes.length === 4 || bytes.length === 16))
    return ipaddr.fromByteArray([...bytes]).toString();
  return null;
}

/**
 * The DNS names and addresses a certificate is for, in its order, from its DER: in the text forms of OpenSSL and Node a
 * comma within a name looks like the end of it.
 *
 * @throws Error when that cannot be read
 */
export function alternativeNames(der: Buffer): string[] {
  const { extensions = [] } = AsnConvert.parse(der, Certificate).tbsCertificate;
  const extension = extensions.find(({ extnID }) => extnID === id_ce_subjectAltName);
  if (extension === undefined) return [];
  // Not by a schema of GeneralName: those at hand refuse all names for one of a rare kind.
  const { result: names } = fromBER(extension.extnValue.buffer);
  if (!(names instanceof Sequence)) throw new TypeError('no sequence of names');
  return names.valueBlock.value.flatMap((name) => {
    const { tagClass, tagNumber } = name.idBlock;
    if (!(name instanceof Primitive) || tagClass !== CONTEXT_SPECIFIC) return [];
    return read(tagNumber, Buffer.from(name.valueBlock.valueHexView)) ?? [];
  });
}
