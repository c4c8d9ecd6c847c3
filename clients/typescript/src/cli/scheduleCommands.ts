import { Schedules } from '../schedules.ts';
import { createTransport } from '../transport.ts';
import { rowsOf } from './accountCommands.ts';
import { accessOf } from './keys.ts';
import { firstOf, jsonOf, tableOf } from './rows.ts';
import { type Subcommand, textOf, type Values } from './subcommand.ts';
import type { Surroundings } from './surroundings.ts';

const openSchedules = async (values: Values, { env }: Surroundings): Promise<Schedules> =>
  new Schedules(createTransport(await accessOf(env, textOf(values['base-url'])), 'UTILITY_TOOLS_API_KEY'));

export const listSchedules: Subcommand = {
  name: 'schedules',
  usage: '[--limit N] [--json]',
  about: 'List the schedules, with the time of their next run.',
  options: { limit: { type: 'string' } },
  operands: 0,
  async run(values, _operands, surroundings) {
    const list = (await openSchedules(values, surroundings)).list({ signal: surroundings.signal });
    const rows = await firstOf(list, rowsOf(values));
    if (values.json === true) return surroundings.out(rows.map(jsonOf).join(''));
    surroundings.out(
      tableOf(
        ['id', 'next', 'cron', 'tools', 'name'],
        rows.map((row) => [
          row.id,
          row.paused ? 'paused' : (row.nextAt ?? ''),
          row.cron,
          row.tools.join(),
          row.name,
        ]),
      ),
    );
  },
};

export const listRuns: Subcommand = {
  name: 'runs',
  usage: 'SCHEDULE [--limit N] [--json]',
  about: 'List the latest runs of a schedule. `result JOB` prints the result of one.',
  options: { limit: { type: 'string' } },
  operands: 1,
  async run(values, [id = ''], surroundings) {
    const list = (await openSchedules(values, surroundings)).runs(id, { signal: surroundings.signal });
    const rows = await firstOf(list, rowsOf(values));
    if (values.json === true) return surroundings.out(rows.map(jsonOf).join(''));
    surroundings.out(
      tableOf(
        ['due', 'state', 'code', 'changed', 'job or batch'],
        rows.map((row) => [
          row.dueAt,
          row.state,
          row.code ?? '',
          row.changed === true ? 'yes' : '',
          row.jobId ?? row.batchId ?? '',
        ]),
      ),
    );
  },
};
