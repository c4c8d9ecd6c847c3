import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import { exceededBound } from '../http/jsonBounds.ts';
import { jsonMembers } from './jsonMembers.ts';
import { parseRow, type Rows, type SentRow } from './rowReader.ts';

/** Name of the array of rows. */
const INPUTS = 'inputs';
/** Bytes of the other members together. */
const OTHER_BYTES = 16_384;
/** Bytes of rows that are held while the name of the tool is not known yet. */
const HELD_BYTES = 8 * 1024 * 1024;

/** The members of a body beside its rows. They are complete when all rows have been read. */
export type Envelope = Map<string, unknown>;

const parsed = (json: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    throw new ServiceError('malformed_json', { cause: error });
  }
};

/**
 * Reads the rows of `{ tool, inputs: […], … }`.
 *
 * @param envelope receives the other members
 * @param longest maximum size of a row in bytes
 * @throws ServiceError malformed_json, body_too_large, invalid_input
 */
export async function* jsonRows(chunks: AsyncIterable<Buffer>, envelope: Envelope, longest: number): Rows {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let otherBytes = 0;
  let index = 0;
  let hasInputs = false;

  function* rowsOf(tool: string, elements: readonly Buffer[]) {
    for (const element of elements) {
      const pointer = `/${INPUTS}/${index}`;
      const place = `row ${index++}`;
      const row = parseRow(element, pointer, place);
      if ('fault' in row) yield row;
      else {
        const sent: SentRow = {
          id: null,
          tool,
          input: row.value,
          bytes: element.length,
          rowPointer: pointer,
          pointer,
          toolPointer: null,
          place: () => place,
        };
        yield sent;
      }
    }
  }

  for await (const piece of jsonMembers(chunks, INPUTS, longest)) {
    const tool = envelope.get('tool');
    if ('element' in piece) {
      hasInputs = true;
      if (typeof tool === 'string') {
        yield* rowsOf(tool, [piece.element]);
        continue;
      }
      heldBytes += piece.element.length;
      if (heldBytes > HELD_BYTES)
        throw invalidInput([
          { pointer: '/tool', message: `must come before ${INPUTS} in a body of this size` },
        ]);
      held.push(piece.element);
      continue;
    }
    const { member, json } = piece;
    otherBytes += member.length + json.length;
    if (otherBytes > OTHER_BYTES)
      throw new ServiceError('body_too_large', {
        detail: `The fields other than ${INPUTS} must have at most ${OTHER_BYTES} bytes.`,
      });
    if (member === INPUTS) throw invalidInput([{ pointer: `/${INPUTS}`, message: 'must be an array' }]);
    const exceeded = exceededBound(json);
    if (exceeded !== null) throw invalidInput([{ ...exceeded, pointer: `/${escapePointer(member)}` }]);
    const value = parsed(json);
    envelope.set(member, value);
    if (member === 'tool' && typeof value === 'string') {
      yield* rowsOf(value, held);
      held = [];
    }
  }
  if (!hasInputs) throw invalidInput([{ pointer: `/${INPUTS}`, message: 'must have at least 1 item' }]);
  if (typeof envelope.get('tool') !== 'string')
    throw invalidInput([{ pointer: '/tool', message: 'is required' }]);
}
