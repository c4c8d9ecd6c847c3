/** An object header, such as `12 0 obj`. Comments between its parts are too rare to be supported. */
const OBJECT = /\b(\d{1,10})\s{1,4}(\d{1,5})\s{1,4}obj\b/g;
const CATALOG = /\/Type\s{0,20}\/Catalog\b/;
/** Entries by which the information dictionary is recognised, because few other dictionaries have them. */
const INFO = /\/(?:Producer|Creator)\b/;
const ENCRYPTION = /\/Encrypt\b/;

/**
 * Replaces the trailers of a PDF with one that references the last catalog and the last information dictionary in the file,
 * as MuPDF does for files without a readable trailer. The reader must rebuild the cross-reference table.
 *
 * @returns null when there is no catalog outside of object streams, or the file is encrypted
 */
export function withNewTrailer(bytes: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  if (ENCRYPTION.test(text)) return null;
  let root: string | undefined;
  let info: string | undefined;
  const headers = [...text.matchAll(OBJECT)];
  for (const [at, { index, 1: number, 2: generation }] of headers.entries()) {
    const body = text.slice(index, headers[at + 1]?.index);
    const reference = `${number} ${generation} R`;
    if (CATALOG.test(body)) root = reference;
    else if (INFO.test(body)) info = reference;
  }
  if (root === undefined) return null;
  const trailer = `\ntrailer\n<< /Root ${root} ${info === undefined ? '' : `/Info ${info}`} >>\nstartxref\n0\n%%EOF\n`;
  const repaired = Buffer.from(text.replaceAll('trailer', ' '.repeat(7)) + trailer, 'latin1');
  return Uint8Array.from(repaired);
}
