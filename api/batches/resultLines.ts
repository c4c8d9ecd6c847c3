import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { EndedRow } from '../../store/batches/rowOutputs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import { csvRecord } from '../account/csv.ts';
import { problemBody } from '../http/problem.ts';
import { jobEnding } from '../jobs/jobEnding.ts';

/** The fields of a result that describe its row. */
const headOf = (row: JobDoc) => ({
  row: row.row ?? 0,
  id: row.rowId ?? null,
  callId: row._id,
  seq: row.seq ?? null,
  tool: row.tool,
  state: row.state,
  cost: row.policy.price,
  charged: row.charged,
  code: row.code,
  endedAt: row.endedAt?.toISOString() ?? null,
});

/** The error of a row as the synchronous call would have returned it; null if it has none. */
function errorOf(row: JobDoc, stored: Buffer | null): Record<string, unknown> | null {
  if (row.state === 'succeeded') return null;
  const ending = jobEnding(row, stored);
  return 'error' in ending ? problemBody(ending.error, row.requestId) : null;
}

/** Writes results as NDJSON. The output is the JSON of the call, byte for byte. */
export async function* ndjsonLines(rows: AsyncIterable<EndedRow>): AsyncGenerator<Buffer> {
  for await (const { row, read } of rows) {
    const stored = await read();
    const output = row.state === 'succeeded' ? stored : null;
    const head = JSON.stringify(headOf(row)).slice(0, -1);
    const error = JSON.stringify(errorOf(row, stored));
    yield Buffer.concat([
      Buffer.from(`${head},"output":`),
      output ?? Buffer.from('null'),
      Buffer.from(`,"error":${error}}\n`),
    ]);
  }
}

function cellOf(value: unknown): string | number | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value);
}

/**
 * Writes results as CSV: a column for each field of the output if all rows call one tool, else the output as JSON.
 *
 * @param tool the tool of all rows; null if there are several
 */
export async function* csvLines(
  rows: AsyncIterable<EndedRow>,
  tool: ToolDefinition | null,
): AsyncGenerator<string> {
  const fields = tool === null ? [] : Object.keys(tool.output.properties);
  const columns = tool === null ? ['output'] : fields.map((field) => `output.${field}`);
  yield csvRecord([
    'row',
    'id',
    'callId',
    'tool',
    'state',
    'charged',
    'code',
    'detail',
    'endedAt',
    ...columns,
  ]);
  for await (const { row, read } of rows) {
    const stored = await read();
    const { detail = null } = errorOf(row, stored) ?? {};
    const output = row.state === 'succeeded' && stored !== null ? stored.toString() : null;
    const parsed: unknown = output === null || tool === null ? null : JSON.parse(output);
    const cells = isRecord(parsed) ? fields.map((field) => cellOf(parsed[field])) : fields.map(() => null);
    const { row: number, id, callId, state, charged, code, endedAt } = headOf(row);
    yield csvRecord([
      ...[number, id, callId, row.tool, state, charged, code, cellOf(detail), endedAt],
      ...(tool === null ? [output] : cells),
    ]);
  }
}
