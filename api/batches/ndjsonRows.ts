import { MAX_ROWS } from '../../schemas/batches.ts';
import { invalidInput } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { type BadRow, parseRow, type Rows, type SentRow } from './rowReader.ts';

const LINE_FEED = 0x0a;
/** Maximum number of lines, with the blank ones. */
const MAX_LINES = 2 * MAX_ROWS;
const TOOL_URL = /^\/api\/v1\/tools\/([\w-]{1,100})$/;

/** Splits bytes at line feeds. A longer line than `longest` is yielded as null. */
async function* linesOf(chunks: AsyncIterable<Buffer>, longest: number): AsyncGenerator<Buffer | null> {
  let parts: Buffer[] = [];
  let size = 0;
  const take = (): Buffer | null => {
    const line = size > longest ? null : Buffer.concat(parts);
    parts = [];
    size = 0;
    return line;
  };
  const add = (part: Buffer): void => {
    size += part.length;
    if (size <= longest) parts.push(part);
    else parts = [];
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      add(chunk.subarray(from, end));
      yield take();
      from = end + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (size > 0) yield take();
}

const isBlank = (line: Buffer): boolean =>
  line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);

/** Reads `{ custom_id, method, url, body }`, the lines of OpenAI's batch files. */
function readRequest(
  value: Record<string, unknown>,
): { id: unknown; tool: unknown; input: unknown } | string {
  const { custom_id: id, method, url, body: input, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `${unknown} is not a known field`;
  if (method !== 'POST') return 'method must be POST';
  const tool = typeof url === 'string' ? TOOL_URL.exec(url)?.[1] : undefined;
  if (tool === undefined) return 'url must be /api/v1/tools/ and the name of a tool';
  return { id, tool, input };
}

/** Reads `{ id, tool, input }`. */
function readCall(value: Record<string, unknown>): { id: unknown; tool: unknown; input: unknown } | string {
  const { id, tool, input, ...others } = value;
  const [unknown] = Object.keys(others);
  return unknown === undefined ? { id, tool, input } : `${unknown} is not a known field`;
}

function rowOf(line: Buffer, index: number, lineNumber: number): SentRow | BadRow {
  const place = `line ${lineNumber}`;
  const parsed = parseRow(line, `/${index}`, place);
  if ('fault' in parsed) return parsed;
  const bad = (message: string): BadRow => ({
    fault: { pointer: `/${index}`, message: `${place}: ${message}` },
  });
  const isRequest = 'custom_id' in parsed.value || 'url' in parsed.value;
  const call = isRequest ? readRequest(parsed.value) : readCall(parsed.value);
  if (typeof call === 'string') return bad(call);
  const { id = null, tool, input } = call;
  if (id !== null && typeof id !== 'string') return bad(`${isRequest ? 'custom_id' : 'id'} must be a string`);
  if (typeof tool !== 'string') return bad('tool must be the name of a tool');
  if (!isRecord(input)) return bad(`${isRequest ? 'body' : 'input'} must be an object`);
  const pointer = `/${index}/${isRequest ? 'body' : 'input'}`;
  return {
    id,
    tool,
    input,
    bytes: line.length,
    rowPointer: `/${index}`,
    pointer,
    toolPointer: `/${index}/${isRequest ? 'url' : 'tool'}`,
    place: () => place,
  };
}

/** Reads the rows of NDJSON, in either of the two shapes. Blank lines are skipped. @param longest bytes of a line */
export async function* ndjsonRows(chunks: AsyncIterable<Buffer>, longest: number): Rows {
  let index = 0;
  let lineNumber = 0;
  for await (const line of linesOf(chunks, longest)) {
    if (++lineNumber > MAX_LINES)
      throw invalidInput([{ pointer: '', message: `must not have more than ${MAX_LINES} lines` }]);
    if (line === null) {
      const message = `line ${lineNumber}: must have at most ${longest} bytes`;
      yield { fault: { pointer: `/${index++}`, message } };
    } else if (!isBlank(line)) yield rowOf(line, index++, lineNumber);
  }
}
