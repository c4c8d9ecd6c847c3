import { Jobs } from '../jobs.ts';
import { createTransport } from '../transport.ts';
import { oneOf, pageOf, rowsOf } from './accountCommands.ts';
import { openBatches } from './batch.ts';
import { accessOf } from './keys.ts';
import { writeOutput } from './output.ts';
import { firstOf, jsonOf, tableOf } from './rows.ts';
import { type Subcommand, textOf, type Values } from './subcommand.ts';
import type { Surroundings } from './surroundings.ts';

/** Start of the id of a batch. */
const BATCH_ID = 'batch_';
const STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;

const openJobs = async (values: Values, { env }: Surroundings): Promise<Jobs> =>
  new Jobs(createTransport(await accessOf(env, textOf(values['base-url'])), 'UTILITY_TOOLS_API_KEY'));

export const listJobs: Subcommand = {
  name: 'jobs',
  usage: '[--state STATE] [--limit N] [--json]',
  about: 'List the latest jobs. A tool with the option --async creates one.',
  options: { state: { type: 'string' }, limit: { type: 'string' } },
  operands: 0,
  async run(values, _operands, surroundings) {
    const count = rowsOf(values);
    const state = oneOf('state', textOf(values.state), STATES);
    const list = (await openJobs(values, surroundings)).list(
      { state, limit: pageOf(count) },
      { signal: surroundings.signal },
    );
    const rows = await firstOf(list, count);
    if (values.json === true) return surroundings.out(rows.map(jsonOf).join(''));
    surroundings.out(
      tableOf(
        ['id', 'created', 'tool', 'state', 'code'],
        rows.map((row) => [row.id, row.createdAt, row.tool, row.state, row.code ?? '']),
      ),
    );
  },
};

export const showResult: Subcommand = {
  name: 'result',
  usage: 'JOB [-o FILE] [--json] [--no-wait]',
  about:
    'Wait for the end of a job and print its result, like the command of its tool. With --no-wait, a job that has not ended is an error.',
  options: { output: { type: 'string', short: 'o' }, 'no-wait': { type: 'boolean' } },
  operands: 1,
  async run(values, [id = ''], surroundings) {
    const { signal, progress } = surroundings;
    const client = await openJobs(values, surroundings);
    const job = await client.get(id, {}, { signal });
    if (job.endedAt === null && values['no-wait'] !== true) progress(`Waiting for ${job.tool} …`);
    const found = await (values['no-wait'] === true
      ? client.result(job, { signal })
      : client.wait(job, { signal }));
    await writeOutput(
      found,
      { output: textOf(values.output) ?? null, json: values.json === true },
      surroundings,
    );
  },
};

export const cancelJob: Subcommand = {
  name: 'cancel',
  usage: 'JOB|BATCH',
  about: 'Cancel a job that waits or runs, or the rows of a batch that wait.',
  options: {},
  operands: 1,
  async run(values, [id = ''], surroundings) {
    const options = { signal: surroundings.signal };
    if (id.startsWith(BATCH_ID)) await (await openBatches(values, surroundings)).batches.cancel(id, options);
    else await (await openJobs(values, surroundings)).cancel(id, options);
    surroundings.progress('Cancelled, unless it had ended.');
  },
};
