import { createHash } from 'node:crypto';
import type { BatchManifest } from '../../schemas/batches.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { EndedRow } from '../../store/batches/rowOutputs.ts';

type Sums = Pick<BatchManifest, 'rows' | 'charged' | 'refused' | 'cancelled' | 'credits'>;

const none = (): Sums => ({ rows: 0, charged: 0, refused: 0, cancelled: 0, credits: 0 });

const OUTCOMES = { succeeded: 'charged', failed: 'refused', cancelled: 'cancelled' } as const;

/** Adds a row that has ended to sums. */
function add(sums: Sums, { row }: EndedRow): void {
  const { state, charged } = row;
  if (state === 'queued' || state === 'running') throw new Error(`row ${row._id} has not ended`);
  sums.rows++;
  sums[OUTCOMES[state]]++;
  sums.credits += charged;
}

/**
 * Makes the manifest of a batch that has ended, from its rows.
 *
 * @param rows all rows, in the order of the input
 * @throws if they do not add up to what the batch has counted
 */
export async function manifestOf(batch: BatchDoc, rows: AsyncIterable<EndedRow>): Promise<BatchManifest> {
  const all = none();
  const tools = new Map<string, Sums>();
  const outputs = createHash('sha256');
  let missing = 0;
  for await (const ended of rows) {
    const { tool, state, sha256, row: number } = ended.row;
    add(all, ended);
    const ofTool = tools.get(tool) ?? none();
    tools.set(tool, ofTool);
    add(ofTool, ended);
    if (state !== 'succeeded') continue;
    const output = sha256 === undefined ? await ended.read() : null;
    const digest = sha256 ?? (output && createHash('sha256').update(output).digest('hex'));
    if (digest === null) missing++;
    else outputs.update(`${number} ${digest}\n`);
  }
  const isEqual = (['rows', 'charged', 'refused', 'cancelled', 'credits'] as const).every(
    (name) => all[name] === batch[name],
  );
  if (!isEqual) throw new Error(`the rows of batch ${batch._id} do not add up to its sums`);
  return {
    id: batch._id,
    state: batch.state === 'cancelled' ? 'cancelled' : 'completed',
    createdAt: batch.createdAt.toISOString(),
    endedAt: batch.endedAt?.toISOString() ?? '',
    ...all,
    tools: [...tools].map(([name, sums]) => ({ name, ...sums })),
    input: batch.body,
    output: { sha256: outputs.digest('hex'), missing },
  };
}
