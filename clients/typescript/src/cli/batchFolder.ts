import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, appendFile, mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchResult } from '../batches.ts';
import type { BatchManifest } from '../generated/types.ts';
import { linesOf } from '../lines.ts';
import { parseJson } from '../response.ts';
import { type CountedRow, isCountedRow, saveRow } from './batchRows.ts';
import { type BatchState, readState, removeState, writeState } from './batchState.ts';
import type { Command } from './command.ts';
import { UsageError } from './exit.ts';
import { jsonOf } from './rows.ts';

/** The service keeps the key of a creation for 24 hours. */
const KEY_MS = 23 * 3_600_000;

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const otherBatch = (path: string, what: string): UsageError =>
  new UsageError(`The folder ${path} ${what}. Choose another folder, or delete this one.`);

/**
 * A folder with the results of a batch. `results.ndjson` has the rows in the order of the input; a command that is repeated
 * continues it.
 */
export class BatchFolder {
  readonly resultsPath: string;
  readonly #path: string;
  readonly #tools: readonly Command[];
  readonly #rows: CountedRow[] = [];
  #state: BatchState;

  private constructor(path: string, tools: readonly Command[], state: BatchState) {
    this.resultsPath = join(path, 'results.ndjson');
    this.#path = path;
    this.#tools = tools;
    this.#state = state;
  }

  /**
   * Opens the folder, and makes it if there is none.
   *
   * @param asked what the command line asks for. The folder of a batch that was started keeps its own limit of credits
   * @throws UsageError if it belongs to another batch
   */
  static async open(
    path: string,
    tools: readonly Command[],
    asked: Pick<BatchState, 'type' | 'tool' | 'input' | 'maxCredits'>,
  ): Promise<BatchFolder> {
    await mkdir(path, { recursive: true });
    const known = await readState(path);
    if (known === null) {
      const idempotencyKey = `utility-tools-${crypto.randomUUID()}`;
      const state = { ...asked, id: null, idempotencyKey, startedAt: new Date().toISOString() };
      const folder = new BatchFolder(path, tools, state);
      if (await exists(folder.resultsPath)) throw otherBatch(path, 'has results, but no batch.json');
      await writeState(path, state);
      return folder;
    }
    if (known.input !== asked.input || known.tool !== asked.tool)
      throw otherBatch(path, 'belongs to a batch with another input or tool');
    if (known.id === null && Date.now() - Date.parse(known.startedAt) > KEY_MS)
      throw otherBatch(path, 'belongs to a batch of which it is not known any more whether it was started');
    const folder = new BatchFolder(path, tools, known);
    await folder.#readRows();
    return folder;
  }

  get state(): BatchState {
    return this.#state;
  }

  /** Number of rows in `results.ndjson`. */
  get rows(): number {
    return this.#rows.length;
  }

  /** Records that the service has accepted the batch. */
  async started(id: string): Promise<void> {
    this.#state = { ...this.#state, id };
    await writeState(this.#path, this.#state);
  }

  /** Forgets a batch that the service has refused, so that the command can be repeated with another input. */
  async forget(): Promise<void> {
    await removeState(this.#path);
  }

  /** Appends a row, after its file. @param text the line of the row */
  async append(text: string, result: BatchResult): Promise<void> {
    if (result.row !== this.rows) throw new Error(`Row ${result.row} arrived instead of row ${this.rows}.`);
    const { output, error, ...stored } = await saveRow(this.#path, this.#tools, text, result);
    await appendFile(this.resultsPath, jsonOf({ ...stored, output, error }));
    this.#rows.push(stored);
  }

  /** Yields the rows as `results.ndjson` has them. */
  async *read(): AsyncGenerator<Record<string, unknown>> {
    for await (const line of linesOf(createReadStream(this.resultsPath))) yield JSON.parse(line);
  }

  /** Writes the manifest. @throws if the rows in the folder do not match it */
  async finish(manifest: BatchManifest): Promise<void> {
    await writeFile(join(this.#path, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const credits = this.#rows.reduce((sum, { charged }) => sum + charged, 0);
    const outputs = createHash('sha256');
    for (const { row, outputSha256 } of this.#rows)
      if (outputSha256 !== null) outputs.update(`${row} ${outputSha256}\n`);
    const { rows, output } = manifest;
    if (rows === this.rows && credits === manifest.credits && outputs.digest('hex') === output.sha256) return;
    throw new Error(
      `The results do not match the manifest of the batch: they were changed, or had expired. To fetch them again, delete ${this.resultsPath} and repeat the command.`,
    );
  }

  /** Reads the rows that were written, and removes what follows the last complete one. */
  async #readRows(): Promise<void> {
    if (!(await exists(this.resultsPath))) return;
    let bytes = 0;
    for await (const line of linesOf(createReadStream(this.resultsPath))) {
      const row = parseJson(line);
      if (!isCountedRow(row) || row.row !== this.rows) break;
      const { charged, outputSha256 } = row;
      this.#rows.push({ row: row.row, charged, outputSha256 });
      bytes += Buffer.byteLength(line) + 1;
    }
    await truncate(this.resultsPath, bytes);
  }
}
