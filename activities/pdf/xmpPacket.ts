/** The outcome of work, and the XMP packet that pdf.js read meanwhile. */
interface Captured<T> {
  result: T;
  /** The bytes of the packet, one per character; null if the document has none. */
  packet: string | null;
}

/**
 * Gets the XMP packet of a document from pdf.js while `work` waits for `getMetadata()`, and keeps pdf.js from parsing it: its
 * parser creates an object per element, and does not finish within a call's time for packets of tens of MB, which Photoshop and
 * InDesign write.
 *
 * pdf.js passes the packet to the global function `escape` to decode UTF-8, and ignores a packet for which that fails. This is
 * not part of its interface, so package.json pins its exact version, and test/tools/pdf-metadata.test.ts reads packets. Once
 * pdf.js can return the packet without parsing it, use that instead.
 */
export async function captureXmpPacket<T>(work: () => Promise<T>): Promise<Captured<T>> {
  const original: unknown = Reflect.get(globalThis, 'escape');
  let packet: string | null = null;
  const take = (text: string): never => {
    packet ??= text;
    throw new URIError('the packet is read elsewhere');
  };
  Reflect.set(globalThis, 'escape', take);
  try {
    const result = await work();
    return { result, packet };
  } finally {
    Reflect.set(globalThis, 'escape', original);
  }
}
