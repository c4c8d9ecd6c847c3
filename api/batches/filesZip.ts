import { Zip, ZipPassThrough } from 'fflate';
import { suggestedName } from '../../schemas/formats/fileType.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { EndedRow } from '../../store/batches/rowOutputs.ts';

interface NamedFile {
  name: string;
  bytes: Buffer;
}

/** Digits of the number of a row in the name of its file; enough for the largest batch. */
const DIGITS = 5;
const LONGEST_NAME = 100;

/** Removes what could lead out of the folder into which an archive is unpacked, or is no name on common systems. */
const safeName = (name: string): string =>
  name
    .normalize('NFC')
    .replace(/[\p{Cc}/\\:*?"<>|]/gu, '_')
    .replace(/^[. ]+|(?<![. ])[. ]+$/g, '')
    .slice(-LONGEST_NAME)
    .toWellFormed();

/** Returns the file of an output; null if it has none. */
function fileOf(
  tool: ToolDefinition,
  output: Record<string, unknown>,
): (Omit<NamedFile, 'name'> & { type: string; name: string | null }) | null {
  const { raw, optionalFile } = tool;
  const field = raw?.data ?? optionalFile?.data;
  const data = field === undefined ? null : output[field];
  const type = raw === undefined ? (optionalFile?.mimeTypeOf(output) ?? null) : String(output[raw.mimeType]);
  if (typeof data !== 'string' || type === null) return null;
  const name = raw?.fileName === undefined ? null : output[raw.fileName];
  return { bytes: Buffer.from(data, 'base64'), type, name: typeof name === 'string' ? name : null };
}

/** Yields the files of rows, each named by its row. */
async function* filesOf(rows: AsyncIterable<EndedRow>, registry: Registry): AsyncGenerator<NamedFile> {
  for await (const { row, read } of rows) {
    const tool = registry.get(row.tool);
    if (row.state !== 'succeeded' || tool === undefined) continue;
    if (tool.raw === undefined && tool.optionalFile === undefined) continue;
    const stored = await read();
    const output: unknown = stored === null ? null : JSON.parse(stored.toString());
    const file = isRecord(output) ? fileOf(tool, output) : null;
    if (file === null) continue;
    const named = safeName(file.name ?? '') || suggestedName(row.tool, file.type);
    yield { name: `${String(row.row).padStart(DIGITS, '0')}-${named}`, bytes: file.bytes };
  }
}

/** Writes the files of rows as a ZIP archive without compression: pictures and PDF files are compressed already. */
export async function* filesZip(
  rows: AsyncIterable<EndedRow>,
  registry: Registry,
  at: Date,
): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  const zip = new Zip((error, data) => {
    if (error !== null) throw error;
    parts.push(data);
  });
  const written = () => {
    const done = parts;
    parts = [];
    return done;
  };
  for await (const { name, bytes } of filesOf(rows, registry)) {
    const entry = new ZipPassThrough(name);
    entry.mtime = at;
    zip.add(entry);
    entry.push(bytes, true);
    yield* written();
  }
  zip.end();
  yield* written();
}
