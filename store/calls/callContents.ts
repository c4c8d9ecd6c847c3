import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Store } from '../mongo/mongo.ts';

/** Why the input or output of a call was not kept: it is too large, or the call contained secret fields. */
export type Omission = 'large' | 'secret';

/** The input and output of a call as JSON. One that was not kept is replaced by the reason. */
interface CallContent {
  input: { json: string } | { omitted: Omission };
  output: { json: string; isError: boolean } | { omitted: Omission };
}

/** A kept content and when it will be deleted. */
export interface KeptContent extends CallContent {
  expiresAt: Date;
}

export interface EndedCall {
  callId: string;
  accountId: string;
  /** The input without its secret fields. */
  input: Record<string, unknown>;
  /** Whether the call contained secret fields, which the output could repeat. */
  hadSecrets: boolean;
  /** The output as JSON, null if it is too large to be kept, or the members of the error. */
  ending: { json: string | Buffer | null } | { error: Record<string, unknown> };
}

/**
 * Keeps the input and output of calls for accounts whose owner has switched it on (`keepsContents`), encrypted, for
 * `KEPT_MS`. Keeping is best effort: under load and on errors, calls are left out.
 */
export interface CallContents {
  /**
   * Keeps the content of a call in the background. Resolves when it is kept or left out; calls do not wait for it. Never
   * rejects.
   */
  keep(call: EndedCall): Promise<void>;
  find(accountId: string, callId: string): Promise<KeptContent | null>;
  /** Switches keeping on or off. Switching it off deletes what was kept. */
  setKeeping(accountId: string, keeps: boolean): Promise<void>;
  /** Finishes the current write and drops the waiting contents; for a graceful shutdown. */
  close(): Promise<void>;
}

/** How long contents are kept, in milliseconds. */
const KEPT_MS = 24 * 3_600_000;
/** Maximum size in bytes of an input and of an output, as JSON. */
export const KEPT_BYTES = 512 * 1024;
/** Maximum number of calls of an account whose contents are kept: the newest. */
export const KEPT_CALLS = 500;
/**
 * Maximum size, in characters, of all inputs and outputs of this process that wait to be kept. Further ones are left out, so
 * that a slow database does not make the memory of the process grow.
 */
export const WAITING_CHARACTERS = 4 * 1024 * 1024;
/** Size that each waiting call counts in addition to its input and output. */
const CALL_CHARACTERS = 4096;
/**
 * Expiry in milliseconds of a content until it is confirmed that the account still keeps contents, so that a crash in
 * between leaves nothing behind.
 */
const UNCONFIRMED_MS = 60_000;

/** Both ids are authenticated, so that a content can be read only as that of its call and account. */
const contextOf = (accountId: string, callId: string): string => `${accountId}:${callId}`;

const isLarge = (json: string | Buffer): boolean => Buffer.byteLength(json) > KEPT_BYTES;

/** A call whose input and output are small enough to be kept, or are null. */
interface SmallCall extends Omit<EndedCall, 'input'> {
  input: Record<string, unknown> | null;
  /** A lower bound of the number of characters of input and output, as JSON. */
  characters: number;
}

/** Number of characters of all texts and names in a value: a lower bound of the length of its JSON, which is not created. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, item]) => sum + name.length + charactersOf(item), 0);
}

/** Drops a large input and output, so that they do not stay in memory while the call waits. */
function withoutLarge({ input, ending, ...call }: EndedCall): SmallCall {
  const inputCharacters = charactersOf(input);
  const isLargeInput = inputCharacters > KEPT_BYTES;
  const output = 'json' in ending ? ending.json : null;
  const isLargeOutput = output !== null && isLarge(output);
  return {
    ...call,
    input: isLargeInput ? null : input,
    ending: isLargeOutput ? { json: null } : ending,
    characters: (isLargeInput ? 0 : inputCharacters) + (isLargeOutput ? 0 : (output?.length ?? 0)),
  };
}

function outputOf({ hadSecrets, ending }: SmallCall): CallContent['output'] {
  if (hadSecrets) return { omitted: 'secret' };
  if ('error' in ending) return { json: JSON.stringify(ending.error), isError: true };
  return ending.json === null ? { omitted: 'large' } : { json: ending.json.toString(), isError: false };
}

function inputOf({ input }: SmallCall): CallContent['input'] {
  if (input === null) return { omitted: 'large' };
  const json = JSON.stringify(input);
  return isLarge(json) ? { omitted: 'large' } : { json };
}

/**
 * @param onLeftOut called when the queue is empty again, with the number of calls that were left out because it was full
 */
export function createCallContents(
  { accounts, callContents }: Pick<Store, 'accounts' | 'callContents'>,
  keyring: Keyring,
  onError: (error: unknown) => void,
  onLeftOut: (calls: number) => void = () => undefined,
): CallContents {
  let waitingCharacters = 0;
  let leftOut = 0;
  let isClosed = false;
  let writing = Promise.resolve();

  async function write(call: SmallCall): Promise<void> {
    const { callId, accountId } = call;
    const content: CallContent = { input: inputOf(call), output: outputOf(call) };
    const json = Buffer.from(JSON.stringify(content));
    const sealed = keyring.seal('call-content', contextOf(accountId, callId), json);
    const at = Date.now();
    const expiresAt = new Date(at + UNCONFIRMED_MS);
    await callContents.insertOne({ _id: callId, accountId, sealed, expiresAt });
    // Read after the insert: if keeping is switched off later, that deletes the content.
    const account = await accounts.findOne({ _id: accountId }, { projection: { keepsContents: 1 } });
    if (account?.keepsContents !== true) {
      await callContents.deleteOne({ _id: callId, accountId });
      return;
    }
    await callContents.updateOne({ _id: callId, accountId }, { $set: { expiresAt: new Date(at + KEPT_MS) } });
    const kept = await callContents.countDocuments({ accountId }, { limit: KEPT_CALLS + 1 });
    if (kept > KEPT_CALLS) {
      // Contents that other processes have not confirmed yet expire within this time.
      const unconfirmed = new Date(Date.now() + UNCONFIRMED_MS);
      await callContents.findOneAndDelete(
        { accountId, expiresAt: { $gt: unconfirmed } },
        { sort: { expiresAt: 1 } },
      );
    }
  }

  function release(size: number): void {
    waitingCharacters -= size;
    if (waitingCharacters > 0 || leftOut === 0) return;
    onLeftOut(leftOut);
    leftOut = 0;
  }

  return {
    keep(call) {
      const small = withoutLarge(call);
      const size = small.characters + CALL_CHARACTERS;
      if (waitingCharacters + size > WAITING_CHARACTERS) {
        leftOut++;
        return writing;
      }
      waitingCharacters += size;
      // One at a time, so that keeping takes little of what calls need.
      writing = writing
        .then(() => (isClosed ? undefined : write(small)))
        .catch(onError)
        .finally(() => release(size));
      return writing;
    },

    async find(accountId, callId) {
      const row = await callContents.findOne(
        { _id: callId, accountId, expiresAt: { $gt: new Date() } },
        { promoteBuffers: true },
      );
      if (row === null) return null;
      // Contents expire, so that they are not encrypted again when master keys change.
      if (!keyring.has(keyring.keyIdOf(row.sealed))) return null;
      const content: CallContent = JSON.parse(
        keyring.open('call-content', contextOf(accountId, callId), row.sealed).toString(),
      );
      return { ...content, expiresAt: row.expiresAt };
    },

    async setKeeping(accountId, keeps) {
      const update = keeps
        ? { $set: { keepsContents: true as const } }
        : { $unset: { keepsContents: '' as const } };
      await accounts.updateOne({ _id: accountId }, update);
      if (!keeps) await callContents.deleteMany({ accountId });
    },

    close() {
      isClosed = true;
      return writing;
    },
  };
}
