/**
 * Decodes the character strings of a TXT record, which has no declared encoding: as UTF-8 if all of them together are
 * valid, else as Latin-1, which maps every byte. A character split across two strings is put into the second.
 */
export function decodeChunks(chunks: readonly Buffer[]): string[] {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  try {
    return chunks.map((chunk, index) => utf8.decode(chunk, { stream: index < chunks.length - 1 }));
  } catch {
    return chunks.map((chunk) => chunk.toString('latin1'));
  }
}
