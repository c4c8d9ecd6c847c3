import { ServiceError } from '../../schemas/errors.ts';
import { isCfb, readCfb } from '../office/cfb.ts';
import { DOC, DOCM, DOCX, DOTM, DOTX, type DocumentType, ODT, OLD_DOC, RTF } from '../office/types.ts';
import { decodeXml } from '../office/xml.ts';
import { isZip, openZip, type ZipBudget } from '../office/zip.ts';

const LIMITS: Readonly<ZipBudget> = { entries: 10_000, bytes: 300_000_000, depth: 3 };

const CONTENT_TYPES = '[Content_Types].xml';
const MIME_TYPE = 'mimetype';
const MANIFEST = 'META-INF/manifest.xml';
const TAG = /<[^<>]*>/g;
/** In the entry of the whole document in the manifest (OpenDocument 1.3, part 2, 4.8.4). */
const ROOT_PATH = /full-path\s*=\s*["']\/["']/;
const ODT_TYPE = 'application/vnd.oasis.opendocument.text';
/** Types of Word documents by the content type of their main part (ECMA-376-1, 15.2; [MS-OFFMACRO] 2.1). */
const WORD_TYPES: readonly [contentType: string, type: DocumentType][] = [
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml', DOCX],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml', DOTX],
  ['application/vnd.ms-word.document.macroEnabled.main+xml', DOCM],
  ['application/vnd.ms-word.template.macroEnabledTemplate.main+xml', DOTM],
];

/** FibBase ([MS-DOC] 2.5.2): wIdent of Word 97 and later, wIdent of Word 6 and 95, fEncrypted in the flags at offset 10. */
const WORD_97 = 0xa5ec;
const WORD_6 = 0xa5dc;
const ENCRYPTED = 0x0100;

const unsupported = () =>
  new ServiceError('unsupported_source', {
    detail:
      'The file is not a Word (.doc, .docx, .docm, .dotx, .dotm), OpenDocument text (.odt) or RTF document.',
  });
const passwordProtected = () =>
  new ServiceError('unsupported_source', { detail: 'The document is password-protected.' });

/** Detects the type of a ZIP before unpacking all of it, so that archives that are not documents are refused early. */
async function typeOfZip(bytes: Buffer, limits: ZipBudget): Promise<DocumentType> {
  const archive = openZip(bytes, { ...limits });
  const type = await typeOfParts(async (name) => decodeXml(await archive.readPart(name)));
  await archive.checkSize();
  return type;
}

async function typeOfParts(read: (name: string) => Promise<string>): Promise<DocumentType> {
  const manifest = await read(MANIFEST);
  // Archives that other programs have packed again lack the part with the type.
  const type =
    (await read(MIME_TYPE)).trim() || (manifest.match(TAG)?.find((tag) => ROOT_PATH.test(tag)) ?? '');
  if (type === ODT_TYPE || type.includes(`"${ODT_TYPE}"`)) {
    if (/[<:]encryption-data\b/.test(manifest)) throw passwordProtected();
    return ODT;
  }
  const types = await read(CONTENT_TYPES);
  const found = WORD_TYPES.find(([it]) => types.includes(`"${it}"`) || types.includes(`'${it}'`));
  if (found === undefined) throw unsupported();
  return found[1];
}

function typeOfCfb(bytes: Buffer): DocumentType {
  const streams = readCfb(bytes);
  if (streams.has('EncryptedPackage')) throw passwordProtected();
  const document = streams.get('WordDocument')?.(12);
  if (document === undefined) throw unsupported();
  if (document.length < 12) throw new ServiceError('corrupt_source');
  const version = document.readUInt16LE(0);
  if (version !== WORD_97 && version !== WORD_6) throw new ServiceError('corrupt_source');
  if ((document.readUInt16LE(10) & ENCRYPTED) !== 0) throw passwordProtected();
  return version === WORD_97 ? DOC : OLD_DOC;
}

/**
 * Detects the type of a document from its bytes.
 *
 * @param limits for an archive with all archives nested in it. Default: 10,000 entries, 300 MB unpacked, 3 levels
 * @throws ServiceError unsupported_source for unsupported types and password-protected documents; corrupt_source for a
 *   damaged document; source_too_large for an archive beyond the limits
 */
export default async function inspectDocument(
  input: { bytes: Uint8Array },
  limits = LIMITS,
): Promise<DocumentType> {
  const { buffer, byteOffset, byteLength } = input.bytes;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  if (isZip(bytes)) return typeOfZip(bytes, limits);
  if (isCfb(bytes)) return typeOfCfb(bytes);
  if (bytes.toString('latin1', 0, 5) === '{\\rtf') return RTF;
  throw unsupported();
}
