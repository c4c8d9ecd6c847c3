import type { ToolDefinition } from '../../../../schemas/tool.ts';
import { csvRecord } from '../../../account/csv.ts';
import { ID } from '../../../batches/csvRows.ts';

/** A column of the file of a batch. */
export interface TemplateColumn {
  name: string;
  isRequired: boolean;
  /** Text in which \`backticks\` mark code. */
  description: string;
}

const ID_COLUMN: TemplateColumn = {
  name: ID,
  isRequired: false,
  description: 'A name of your own for the row, which its result repeats. No two rows may have the same.',
};

const exampleOf = ({ examples }: ToolDefinition): Record<string, unknown> => examples[0]?.input ?? {};

/** Returns the columns that a file for a tool can have: first those that are required or in the example. */
export function columnsOf(tool: ToolDefinition): TemplateColumn[] {
  const { properties, required } = tool.input;
  const example = exampleOf(tool);
  const isFirst = (name: string) => required.includes(name) || Object.hasOwn(example, name);
  const names = Object.keys(properties);
  const columns = [...names.filter(isFirst), ...names.filter((name) => !isFirst(name))].map((name) => ({
    name,
    isRequired: required.includes(name),
    description: properties[name]?.description ?? '',
  }));
  return names.includes(ID) ? columns : [ID_COLUMN, ...columns];
}

function cellOf(value: unknown): string | number | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value);
}

/** Returns a CSV file with all columns and one row, the example of the tool. */
export function templateOf(tool: ToolDefinition): string {
  const columns = columnsOf(tool);
  const example = exampleOf(tool);
  return (
    csvRecord(columns.map(({ name }) => name)) +
    csvRecord(columns.map((column) => (column === ID_COLUMN ? 'example' : cellOf(example[column.name]))))
  );
}
