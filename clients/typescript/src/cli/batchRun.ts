import { setTimeout as sleep } from 'node:timers/promises';
import { type Batches, newBatch, readResults } from '../batches.ts';
import { ApiError } from '../errors.ts';
import type { Batch } from '../generated/types.ts';
import type { LineTransport } from '../lines.ts';
import { rowOf } from '../rest.ts';
import type { Transport } from '../transport.ts';
import type { BatchFolder } from './batchFolder.ts';
import { CommandError, type ExitKind, exitKindOf } from './exit.ts';
import type { Surroundings } from './surroundings.ts';

/** Milliseconds between two requests for the state of the batch, and between two lines of progress. */
const POLL_MS = 1000;
const PROGRESS_MS = 3000;

/** Refusals after which no batch was created, and which the same request gets again. */
const REFUSED: readonly ExitKind[] = ['input', 'target', 'key', 'credits'];

/** The kind of error with which the command ends if the batch pauses. */
const PAUSES: Readonly<Record<string, ExitKind>> = {
  max_credits: 'credits',
  insufficient_credits: 'credits',
  key_budget_exceeded: 'credits',
  account_suspended: 'key',
};

const ADVICE: Readonly<Record<string, string>> = {
  max_credits: 'Repeat the command with a higher --max-credits to continue.',
  insufficient_credits: 'It continues when the account has enough credits. Repeat the command then.',
};

/** The connections to the service. */
export interface Service {
  batches: Batches;
  send: Transport;
  lines: LineTransport;
}

export const number = (value: number): string => value.toLocaleString('en');

function progressOf({ counts, credits, rate, estimatedEndAt }: Batch): string {
  const { rows, open, refused, cancelled } = counts;
  const failed = refused + cancelled;
  const seconds = estimatedEndAt === null ? 0 : (Date.parse(estimatedEndAt) - Date.now()) / 1000;
  return [
    `${number(rows - open)} of ${number(rows)} rows`,
    ...(failed > 0 ? [`${number(failed)} failed`] : []),
    `${number(credits.charged)} credits`,
    ...(rate === null || rate === 0 ? [] : [`${number(rate)} rows/s`]),
    ...(seconds > 1
      ? [`${seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`} left`]
      : []),
  ].join(', ');
}

/** Creates the batch of a folder, or finds the one that was created without a response. */
async function createIn(
  folder: BatchFolder,
  content: Uint8Array<ArrayBuffer>,
  { send }: Service,
  signal: AbortSignal,
): Promise<Batch> {
  const { tool, maxCredits, idempotencyKey, type } = folder.state;
  const query = { tool: tool ?? undefined, maxCredits: maxCredits ?? undefined, idempotencyKey };
  // The command repeats the request with its key by itself, so that no error needs to name the key.
  const request = { ...newBatch(new Blob([content]), type, query), isTool: false, idempotencyKey: null };
  try {
    const batch = rowOf<Batch>(await send(request, { signal }));
    await folder.started(batch.id);
    return batch;
  } catch (error) {
    if (error instanceof ApiError && REFUSED.includes(exitKindOf(error))) await folder.forget();
    throw error;
  }
}

/** Continues a batch that is paused, and gives it the limit of credits of this command. A limit changes only while it is paused. */
async function continueBatch(
  { batches }: Service,
  batch: Batch,
  maxCredits: number | null,
  signal: AbortSignal,
): Promise<Batch> {
  const { id, credits } = batch;
  const isOtherLimit = maxCredits !== null && maxCredits !== credits.max;
  const { state } = isOtherLimit && batch.state === 'running' ? await batches.pause(id, { signal }) : batch;
  if (state !== 'paused') return batch;
  return batches.resume(id, maxCredits === null ? {} : { maxCredits }, { signal });
}

/** Writes the rows of a batch as they end, until all have ended. @throws CommandError if the batch pauses */
async function follow(
  folder: BatchFolder,
  first: Batch,
  { batches, lines }: Service,
  { progress, signal }: Surroundings,
): Promise<Batch> {
  let [shown, shownAt] = ['', 0];
  let openAtPause: number | null = null;
  for (let batch = first; ; batch = await batches.get(first.id, { signal })) {
    const text = progressOf(batch);
    if (text !== shown && (batch.endedAt !== null || Date.now() - shownAt >= PROGRESS_MS)) {
      progress(text);
      [shown, shownAt] = [text, Date.now()];
    }
    const { rows, open } = batch.counts;
    if (rows - open > folder.rows) {
      const after = folder.rows === 0 ? undefined : folder.rows - 1;
      for await (const { text: line, result } of readResults(lines, batch.id, { after }, signal))
        await folder.append(line, result);
    }
    if (batch.endedAt !== null) {
      if (folder.rows !== rows) throw new Error(`The service returned ${folder.rows} of ${rows} rows.`);
      return batch;
    }
    // Rows that ran when the batch was paused still end.
    if (batch.state === 'paused' && open === openAtPause) {
      const reason = batch.pauseReason ?? '';
      throw new CommandError(
        `The batch is paused (${reason}). ${ADVICE[reason] ?? 'Repeat the command to continue.'}`,
        PAUSES[reason] ?? 'later',
      );
    }
    openAtPause = batch.state === 'paused' ? open : null;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Runs the batch of a folder to its end. @throws CommandError if it pauses */
export async function runIn(
  folder: BatchFolder,
  content: Uint8Array<ArrayBuffer>,
  maxCredits: number | null,
  service: Service,
  surroundings: Surroundings,
): Promise<Batch> {
  const { progress, signal } = surroundings;
  const { id } = folder.state;
  try {
    const batch =
      id === null
        ? await createIn(folder, content, service, signal)
        : await service.batches.get(id, { signal });
    progress(`${id === null ? 'Started' : 'Continuing'} ${batch.id}: ${number(batch.counts.rows)} rows.`);
    const first = await continueBatch(service, batch, maxCredits, signal);
    return await follow(folder, first, service, surroundings);
  } catch (error) {
    const started = folder.state.id;
    if (signal.aborted)
      progress(
        started === null
          ? 'Repeat the command to continue. The batch is not started twice.'
          : `The batch continues without this command. Repeat the command to follow it, or run "utility-tools cancel ${started}".`,
      );
    throw error;
  }
}
