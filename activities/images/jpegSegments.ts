/** A segment of a JPEG, such as a table or application data (ITU-T T.81, B.1.1.4). */
interface JpegSegment {
  /** Second byte of the marker. */
  marker: number;
  /** The bytes after the length, as far as the file has them. */
  data: Buffer;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;
/** Markers without a segment (ITU-T T.81, table B.1): a stuffed zero, TEM, RST0 to RST7 and SOI. */
const isBare = (marker: number): boolean =>
  marker === 0x00 || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Yields the segments up to the first scan. Skips stray bytes between segments, as libjpeg and browsers do. */
export function* jpegSegments(bytes: Buffer): Generator<JpegSegment> {
  for (let at = bytes.indexOf(0xff, 2); at >= 0; at = bytes.indexOf(0xff, at)) {
    while (bytes[at] === 0xff) at++;
    if (at + 3 > bytes.length) return;
    const marker = bytes.readUInt8(at++);
    if (marker === END_OF_IMAGE) return;
    if (isBare(marker)) continue;
    const end = at + Math.max(2, bytes.readUInt16BE(at));
    yield { marker, data: bytes.subarray(at + 2, end) };
    if (marker === START_OF_SCAN) return;
    at = end;
  }
}

/** Returns the application data of a kind, without the bytes that identify it; null if there are none. */
export function jpegData(bytes: Buffer, marker: number, identifier: string): Buffer | null {
  for (const segment of jpegSegments(bytes))
    if (segment.marker === marker && segment.data.toString('latin1', 0, identifier.length) === identifier)
      return segment.data.subarray(identifier.length);
  return null;
}
