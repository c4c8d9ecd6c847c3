import { pipeline, Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { fieldValue } from '../http/fieldValue.ts';
import type { Rows } from './rowReader.ts';

/** Column of the id of a row, unless the tool has a field of this name. */
export const ID = 'id';
/** More than any tool has fields. */
const MAX_COLUMNS = 100;

/** Decodes a body, whose characters may be split between chunks. @throws ServiceError malformed_json */
async function* textOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ServiceError('malformed_json', { detail: 'The body is not UTF-8.', cause: error });
  }
}

/** Checks the names of the columns. @throws ServiceError invalid_input */
function checkColumns(columns: readonly string[], { input }: ToolDefinition): void {
  if (columns.length > MAX_COLUMNS)
    throw invalidInput([{ pointer: '', message: `line 1: must not have more than ${MAX_COLUMNS} columns` }]);
  const faults = columns.flatMap((column, index) => {
    const isKnown = column === ID || Object.hasOwn(input.properties, column);
    const message = isKnown ? 'appears twice' : `is not a field of the tool, or ${ID}`;
    const isBad = !isKnown || columns.indexOf(column) !== index;
    return isBad ? [{ pointer: `/${escapePointer(column)}`, message: `line 1: the column ${message}` }] : [];
  });
  if (faults.length > 0) throw invalidInput(faults);
}

/**
 * Reads the rows of CSV (RFC 4180) with a header, for one tool. A cell that is empty leaves out its field.
 *
 * @param longest maximum size of a record in characters
 * @throws ServiceError invalid_input if the text is not CSV, or a column is unknown
 */
export async function* csvRows(chunks: AsyncIterable<Buffer>, tool: ToolDefinition, longest: number): Rows {
  const { properties } = tool.input;
  const parser = parse({
    bom: true,
    info: true,
    max_record_size: longest,
    // Otherwise the end of the first line decides, and a file with several kinds is read into wrong cells.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
  });
  // Errors of the source end the parser, whose reader gets them.
  pipeline(Readable.from(textOf(chunks)), parser, () => undefined);
  let columns: string[] | null = null;
  let index = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      if (columns === null) {
        checkColumns(record, tool);
        columns = record;
        continue;
      }
      const line = info.lines;
      const pointer = `/${index++}`;
      if (record.length !== columns.length) {
        const message = `line ${line}: must have ${columns.length} cells`;
        yield { fault: { pointer, message } };
        continue;
      }
      const cells = columns.map((column, at): [string, string] => [column, record[at] ?? '']);
      const isField = ([column]: [string, string]) => Object.hasOwn(properties, column);
      const fields = cells
        .filter(([, cell]) => cell !== '')
        .filter(isField)
        .map(([column, cell]) => [column, fieldValue(properties[column] ?? {}, cell)]);
      yield {
        id: cells.find((cell) => cell[0] === ID && !isField(cell))?.[1] || null,
        tool: tool.name,
        input: Object.fromEntries(fields),
        bytes: record.reduce((sum, cell) => sum + cell.length, 0),
        rowPointer: pointer,
        pointer,
        toolPointer: null,
        place: (field) => (field === '' ? `line ${line}` : `line ${line}, column ${field}`),
      };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw invalidInput([{ pointer: `/${index}`, message: `is not valid CSV: ${error.message}` }]);
  } finally {
    parser.destroy();
  }
}
