import { saveFile } from '../node.ts';
import type { Result, ToolFile } from '../result.ts';
import { UsageError } from './exit.ts';
import { fieldsOf, jsonOf } from './rows.ts';
import type { Surroundings } from './surroundings.ts';

interface Format {
  /** Path of the file; `-` is standard output, null prints all fields. */
  output: string | null;
  json: boolean;
}

/** Prints a result, or saves its file. */
export async function writeOutput(
  { output: fields, file }: Pick<Result<Record<string, unknown>>, 'output'> & { file: ToolFile | null },
  { output, json }: Format,
  { out }: Surroundings,
): Promise<void> {
  if (file === null) {
    if (output !== null) throw new UsageError('This tool creates no file, so -o is not supported.');
    return out(json ? jsonOf(fields) : fieldsOf(fields));
  }
  if (output === null) return out(jsonOf(fields));
  if (output === '-') return out(file.bytes());
  const path = await saveFile({ file }, output).catch((error: Error) => {
    throw new Error(
      `The file could not be saved: ${error.message}. Repeat the command: reading a result costs nothing.`,
    );
  });
  out(`${path}\n`);
}
