import { ServiceError } from '../../schemas/errors.ts';

/** A member of a JSON object, or an element of the array that is one of its members; as JSON text. */
export type Piece = { member: string; json: Buffer } | { element: Buffer };

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** State of the parser: the token that it expects next. White space may precede each. */
type Place =
  | 'start'
  | 'firstName'
  | 'name'
  | 'colon'
  | 'value'
  | 'afterValue'
  | 'firstElement'
  | 'element'
  | 'afterElement'
  | 'end';

/**
 * Splits a JSON object into its members, and the array `arrayName` into its elements, without holding more than one of them.
 * Checks what is between them; the pieces themselves are parsed by the caller.
 *
 * @param longest maximum size of a piece in bytes
 * @throws ServiceError malformed_json, body_too_large
 */
export async function* jsonMembers(
  chunks: AsyncIterable<Buffer>,
  arrayName: string,
  longest: number,
): AsyncGenerator<Piece> {
  const next: { place: Place } = { place: 'start' };
  let name = '';
  /** The parts of the piece that is being read; null between pieces. */
  let parts: Buffer[] | null = null;
  let size = 0;
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  let isFirst = true;
  let marks = 0;

  const malformed = (): ServiceError => new ServiceError('malformed_json');

  function begin(byte: number): void {
    parts = [];
    size = 0;
    depth = byte === ARRAY || byte === OBJECT ? 1 : 0;
    isInText = byte === QUOTE;
    isEscaped = false;
  }
  function add(part: Buffer): void {
    size += part.length;
    if (size > longest)
      throw new ServiceError('body_too_large', { detail: `A row must have at most ${longest} bytes.` });
    parts?.push(part);
  }
  /** Ends the piece that is being read. @returns what is yielded; null for a name */
  function finish(): Piece | null {
    const json = Buffer.concat(parts ?? []);
    parts = null;
    if (next.place === 'element' || next.place === 'firstElement') {
      next.place = 'afterElement';
      return { element: json };
    }
    if (next.place === 'value') {
      next.place = 'afterValue';
      return { member: name, json };
    }
    try {
      name = String(JSON.parse(json.toString()));
    } catch {
      throw malformed();
    }
    next.place = 'colon';
    return null;
  }
  /** Handles a byte between pieces. @returns whether a piece begins with it */
  function between(byte: number): boolean {
    if (isSpace(byte)) return false;
    switch (next.place) {
      case 'start':
        if (byte !== OBJECT) throw malformed();
        next.place = 'firstName';
        return false;
      case 'firstName':
      case 'name':
        if (byte === OBJECT_END && next.place === 'firstName') {
          next.place = 'end';
          return false;
        }
        if (byte !== QUOTE) throw malformed();
        return true;
      case 'colon':
        if (byte !== COLON) throw malformed();
        next.place = 'value';
        return false;
      case 'value':
        if (name === arrayName && byte === ARRAY) {
          next.place = 'firstElement';
          return false;
        }
        return true;
      case 'firstElement':
      case 'element':
        if (byte === ARRAY_END && next.place === 'firstElement') {
          next.place = 'afterValue';
          return false;
        }
        return true;
      case 'afterElement':
        if (byte !== COMMA && byte !== ARRAY_END) throw malformed();
        next.place = byte === COMMA ? 'element' : 'afterValue';
        return false;
      case 'afterValue':
        if (byte !== COMMA && byte !== OBJECT_END) throw malformed();
        next.place = byte === COMMA ? 'name' : 'end';
        return false;
      case 'end':
        throw malformed();
    }
  }
  /** Handles a byte of a piece. @returns how the piece ends: with this byte, before it, or not yet */
  function within(byte: number): 'with' | 'before' | null {
    if (isInText) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        isInText = false;
        if (depth === 0) return 'with';
      }
      return null;
    }
    if (depth === 0) {
      // A number or a literal, which nothing delimits.
      const isEnd = isSpace(byte) || byte === COMMA || byte === ARRAY_END || byte === OBJECT_END;
      return isEnd ? 'before' : null;
    }
    if (byte === QUOTE) isInText = true;
    else if (byte === ARRAY || byte === OBJECT) depth++;
    else if (byte === ARRAY_END || byte === OBJECT_END) depth--;
    return depth === 0 ? 'with' : null;
  }

  for await (const chunk of chunks) {
    let from = 0;
    let at = 0;
    while (isFirst && marks < BYTE_ORDER_MARK.length && chunk[at] === BYTE_ORDER_MARK[marks]) {
      at++;
      marks++;
    }
    if (at < chunk.length) isFirst = false;
    for (; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (parts === null) {
        if (!between(byte)) continue;
        begin(byte);
        from = at;
        continue;
      }
      const ends = within(byte);
      if (ends === null) continue;
      add(chunk.subarray(from, ends === 'with' ? at + 1 : at));
      const piece = finish();
      if (piece !== null) yield piece;
      if (ends === 'before') between(byte);
    }
    if (parts !== null) {
      add(chunk.subarray(from));
    }
  }
  if (next.place !== 'end') throw malformed();
}
