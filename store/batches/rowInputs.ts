import type { Keyring } from '../../platform/secrets/keyring.ts';
import { deleteStored, type Results } from '../calls/results.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import type { Store } from '../mongo/mongo.ts';
import { STORED_MS } from './batches.ts';

/** Size in bytes up to which the input of a row is stored in the document of the row. */
const SEALED_BYTES = 8 * 1024;

type StoredInput = Pick<JobDoc, 'input' | 'sealedInput'>;

/** The encrypted inputs of rows: small ones in the row, which costs no further document, others as those of jobs. */
export interface RowInputs {
  /** Stores an input. @param json UTF-8 */
  store(id: string, json: Buffer): Promise<StoredInput>;
  /** Returns the input if it is in the row; null if it is stored as that of a job. */
  open(row: Pick<JobDoc, '_id' | 'sealedInput'>): Record<string, unknown> | null;
  /** Stores the input of a row once more, for a row with another id. */
  move(row: Pick<JobDoc, '_id'> & StoredInput, id: string): Promise<StoredInput>;
  /** Deletes the input of a row that is stored as that of a job. */
  remove(row: Pick<JobDoc, 'input'>): Promise<void>;
}

const contextOf = (id: string): string => `${id}:row-input`;

export function createRowInputs(
  store: Pick<Store, 'results'>,
  results: Results,
  keyring: Keyring,
): RowInputs {
  const read = ({ _id, sealedInput }: Pick<JobDoc, '_id' | 'sealedInput'>): Buffer | null =>
    sealedInput === undefined
      ? null
      : keyring.open('result', contextOf(_id), Buffer.from(sealedInput, 'base64'));

  async function write(id: string, json: Buffer): Promise<StoredInput> {
    if (json.length <= SEALED_BYTES)
      return { input: null, sealedInput: keyring.seal('result', contextOf(id), json).toString('base64') };
    return { input: await results.write(id, json, new Date(Date.now() + STORED_MS), `${id}:input`) };
  }

  return {
    store: write,

    open(row) {
      const json = read(row);
      return json === null ? null : JSON.parse(json.toString());
    },

    async move({ _id, input, sealedInput }, id) {
      const json = input === null ? read({ _id, ...(sealedInput !== undefined && { sealedInput }) }) : null;
      if (json !== null) return write(id, json);
      if (input === null) throw new Error(`row ${_id} has no input`);
      return write(id, await results.read(_id, input));
    },

    async remove({ input }) {
      if (input !== null) await deleteStored(store, input);
    },
  };
}
