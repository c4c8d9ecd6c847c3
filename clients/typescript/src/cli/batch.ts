import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Batches, type BatchFileType } from '../batches.ts';
import { COMMANDS } from '../generated/commands.ts';
import { createLines } from '../lines.ts';
import { connectionOf, createTransport } from '../transport.ts';
import { numberOf } from './arguments.ts';
import { BatchFolder } from './batchFolder.ts';
import { digestOf } from './batchRows.ts';
import { number, runIn, type Service } from './batchRun.ts';
import { writeTable } from './batchTable.ts';
import { CommandError, UsageError } from './exit.ts';
import { accessOf, KEY_VARIABLES } from './keys.ts';
import { jsonOf } from './rows.ts';
import { type Subcommand, textOf, type Values } from './subcommand.ts';
import type { Surroundings } from './surroundings.ts';

const TYPES: readonly (readonly [RegExp, BatchFileType])[] = [
  [/\.csv$/i, 'text/csv'],
  [/\.(?:ndjson|jsonl)$/i, 'application/x-ndjson'],
];

export async function openBatches(values: Values, { env }: Surroundings): Promise<Service> {
  const access = await accessOf(env, textOf(values['base-url']));
  const send = createTransport(access, KEY_VARIABLES.tools);
  const lines = createLines(connectionOf(access, KEY_VARIABLES.tools));
  return { batches: new Batches(send, lines), send, lines };
}

/** Reads the limit of credits; null if there is none. @throws UsageError */
function maxCreditsOf(values: Values): number | null {
  const text = textOf(values['max-credits']);
  const max = text === undefined ? null : numberOf('max-credits', text);
  if (max !== null && (!Number.isInteger(max) || max < 1))
    throw new UsageError('--max-credits takes a positive integer.');
  return max;
}

/** The type of the input, which its name or --tool decides. @throws UsageError */
function typeOf(path: string, tool: string | null): BatchFileType {
  const [, type] = TYPES.find(([name]) => name.test(path)) ?? [];
  if (type === undefined && tool === null)
    throw new UsageError(`The name of ${path} must end in .csv, .ndjson or .jsonl.`);
  if (type === 'text/csv' && tool === null)
    throw new UsageError('--tool is missing: it names the tool that all rows of a CSV file call.');
  if (type === 'application/x-ndjson' && tool !== null)
    throw new UsageError('--tool is only for CSV files: each line of NDJSON names its tool.');
  return type ?? 'text/csv';
}

/** Runs the rows of a file as a batch, and writes the results into a folder. */
export const runBatch: Subcommand = {
  name: 'batch',
  usage: 'FILE -o FOLDER [--tool NAME] [--max-credits N] [--json]',
  about:
    'Run a tool for each row of a CSV file, or each line of an NDJSON file, and write results and files into a folder. ' +
    'If it is interrupted, repeat the command to continue; nothing runs or is charged twice. --tool names the tool of a CSV file. ' +
    'With --max-credits, the batch pauses instead of spending more.',
  options: {
    output: { type: 'string', short: 'o' },
    tool: { type: 'string' },
    'max-credits': { type: 'string' },
  },
  operands: 1,
  async run(values, [path = ''], surroundings) {
    const { out } = surroundings;
    const target = textOf(values.output);
    if (target === undefined) throw new UsageError('Add -o FOLDER, where the results are written.');
    const tool = textOf(values.tool) ?? null;
    const [type, maxCredits] = [typeOf(path, tool), maxCreditsOf(values)];
    const service = await openBatches(values, surroundings);
    const content = await readFile(path).catch((error: Error) => {
      throw new UsageError(`${path} cannot be read: ${error.message}`);
    });
    const folder = await BatchFolder.open(target, COMMANDS, {
      type,
      tool,
      input: digestOf(content),
      maxCredits,
    });
    const batch = await runIn(folder, new Uint8Array(content), maxCredits, service, surroundings);
    await folder.finish(await service.batches.manifest(batch.id, { signal: surroundings.signal }));
    const table = join(target, 'results.csv');
    if (type === 'text/csv') await writeTable(folder, table);
    out(values.json === true ? jsonOf(batch) : `${type === 'text/csv' ? table : folder.resultsPath}\n`);
    const { rows, charged } = batch.counts;
    if (charged !== rows)
      throw new CommandError(
        `${number(rows - charged)} of ${number(rows)} rows failed or were cancelled. The results say why.`,
        'rows',
      );
  },
};
