import { call } from '../../schemas/accountRows.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { csvRecord } from './csv.ts';
import { callRow } from './rows.ts';

/** Selects calls from the dashboard, which have no key. */
export const DASHBOARD = 'dashboard';

/** Converts the filter `key` to the key id of the calls: null for calls from the dashboard. */
export const keyIdOf = (key: string | undefined): string | null | undefined =>
  key === DASHBOARD ? null : key;

export const CALLS_FILE = 'calls.csv';

/** The fields of a call, in their order. Each phase has a column of its own with its milliseconds, such as `runMs`. */
const COLUMNS = call.required.filter((name) => name !== 'phases');
const PHASES = call.properties.phases.required;

export async function* callExport(calls: AsyncIterable<CallDoc>): AsyncGenerator<string> {
  yield csvRecord([...COLUMNS, ...PHASES.map((phase) => `${phase}Ms`)]);
  for await (const ended of calls) {
    const row = callRow(ended);
    const times = PHASES.map((phase) => row.phases?.[phase] ?? null);
    yield csvRecord([...COLUMNS.map((column) => row[column]), ...times]);
  }
}
