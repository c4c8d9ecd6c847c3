import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { MAX_BAD_ROWS, MAX_ROW_ID, MAX_ROWS } from '../../schemas/batches.ts';
import type { Env } from '../../schemas/env.ts';
import { cutText, type Fault, invalidInput, ServiceError } from '../../schemas/errors.ts';
import { fileIdOf } from '../../schemas/formats/fileSource.ts';
import type { Registry } from '../../schemas/registry.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import type { NewRow } from '../../store/batches/batchRows.ts';
import type { RowInputs } from '../../store/batches/rowInputs.ts';
import { jobPolicyOf } from '../../store/calls/callPolicy.ts';
import { reuseOf } from '../../store/calls/reusableResults.ts';
import type { Files } from '../../store/files/files.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ToolCallService } from '../calls/run.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import type { Caller } from '../http/context.ts';
import type { Rows, SentRow } from './rowReader.ts';

interface Dependencies {
  registry: Registry;
  toolCallService: Pick<ToolCallService, 'authorize' | 'validate'>;
  inputs: Pick<RowInputs, 'store'>;
  files: Pick<Files, 'ids'>;
  keyring: Pick<Keyring, 'mac'>;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>;
}

/** Totals over the rows of a batch. */
export interface CheckedRows {
  rows: number;
  totalCredits: number;
  tools: ToolDefinition[];
}

/** Number of rows, and bytes of their inputs, that are stored at once. */
const CHUNK = { rows: 500, bytes: 4 * 1024 * 1024 } as const;
/** Longest texts of a fault, so that the response names `MAX_BAD_ROWS` of them. */
const FAULT = { pointer: 60, message: 110 } as const;

/** Collects the bad rows of a batch. */
function createBadRows() {
  const faults: Fault[] = [];
  let count = 0;
  return {
    get isEmpty() {
      return count === 0;
    },
    add({ pointer, message }: Fault): void {
      if (++count > MAX_BAD_ROWS) return;
      faults.push({ pointer: cutText(pointer, FAULT.pointer), message: cutText(message, FAULT.message) });
    },
    /** @throws ServiceError invalid_input, which names the bad rows, one fault each */
    throw(): never {
      throw invalidInput(faults, Math.max(0, count - MAX_BAD_ROWS), MAX_BAD_ROWS);
    },
  };
}

/** Why a tool cannot run in batches; null if it can. */
function storageFault(tool: ToolDefinition): string | null {
  const secrets = secretFields(tool);
  return secrets.length === 0
    ? null
    : `cannot run in a batch: its inputs are stored, and secrets (${secrets.join(', ')}) never are`;
}

/** Creates the check of the rows of a batch, which stores them as it goes. */
export function createCheckRows({ registry, toolCallService, inputs, files, keyring, limits }: Dependencies) {
  /** Returns the fault of a row, or null. The input gets its defaults. */
  function faultOf({ tool: name, input, bytes, pointer, toolPointer, place }: SentRow): Fault | null {
    const tool = registry.get(name);
    if (tool === undefined) {
      if (toolPointer === null) throw new ServiceError('unknown_tool');
      return { pointer: toolPointer, message: `${place('')}: ${name} is not a tool` };
    }
    const rule = storageFault(tool);
    if (rule !== null) {
      if (toolPointer === null) throw invalidInput([{ pointer: '/tool', message: rule }]);
      return { pointer: toolPointer, message: `${place('')}: ${rule}` };
    }
    const limit = tool.limits.bodyBytes ?? DEFAULT_BODY_BYTES;
    if (bytes > limit) return { pointer, message: `${place('')}: must have at most ${limit} bytes` };
    try {
      toolCallService.validate(tool, input);
      return null;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { errors = [], moreErrors = 0 } = error.members;
      const [first] = errors;
      if (first === undefined) throw error;
      const [, field = ''] = first.pointer.split('/');
      const others = errors.length - 1 + moreErrors;
      const more = others > 0 ? ` (and ${others} more)` : '';
      return { pointer: `${pointer}${first.pointer}`, message: `${place(field)}: ${first.message}${more}` };
    }
  }

  /**
   * Checks all rows, and stores them until one is bad.
   *
   * @param store stores a group of rows
   * @throws ServiceError invalid_input with all bad rows; the errors of `authorize`
   */
  return async function checkRows(
    caller: Caller,
    rows: Rows,
    store: (rows: NewRow[]) => Promise<void>,
  ): Promise<CheckedRows> {
    const bad = createBadRows();
    const ids = new Set<string>();
    const tools = new Map<string, ToolDefinition>();
    let count = 0;
    let totalCredits = 0;
    let group: NewRow[] = [];
    let bytes = 0;

    let storing = Promise.resolve();
    /** Begins to store the group, while the next one is checked. */
    const flush = async () => {
      await storing;
      if (group.length === 0) return;
      storing = store(group);
      // Reported by the next `await`.
      storing.catch(() => undefined);
      group = [];
      bytes = 0;
    };
    const toolOf = (name: string): ToolDefinition => {
      const tool = tools.get(name) ?? registry.get(name);
      if (tool === undefined) throw new ServiceError('unknown_tool');
      if (!tools.has(name)) toolCallService.authorize(caller, tool);
      tools.set(name, tool);
      return tool;
    };
    const idFault = ({ id, rowPointer, place }: SentRow): Fault | null => {
      if (id === null) return null;
      const isTaken = ids.has(id);
      if (!isTaken && id !== '' && id.length <= MAX_ROW_ID) {
        ids.add(id);
        return null;
      }
      const rule = isTaken
        ? 'the id is that of an earlier row'
        : `the id must have 1 to ${MAX_ROW_ID} characters`;
      return { pointer: rowPointer, message: `${place('')}: ${rule}` };
    };

    let known: ReadonlySet<string> | undefined;
    /** Returns the fault of a row whose input names an uploaded file that the account does not have; else null. */
    const fileFault = async ({ tool: name, input, pointer, place }: SentRow): Promise<Fault | null> => {
      const tool = registry.get(name);
      const fileId = tool === undefined ? null : fileIdOf(tool, input);
      if (fileId === null) return null;
      known ??= await retryStore(() => files.ids(caller.account._id));
      if (known.has(fileId)) return null;
      return {
        pointer: `${pointer}/fileUrl`,
        message: `${place('fileUrl')}: is not the id of a file of the account`,
      };
    };

    try {
      for await (const row of rows) {
        if (++count > MAX_ROWS)
          throw invalidInput([{ pointer: '', message: `must not have more than ${MAX_ROWS} rows` }]);
        const fault = 'fault' in row ? row.fault : (idFault(row) ?? faultOf(row) ?? (await fileFault(row)));
        if (fault !== null) bad.add(fault);
        if (!bad.isEmpty || 'fault' in row) continue;
        const tool = toolOf(row.tool);
        totalCredits += tool.price;
        const id = randomUUID();
        const fileId = fileIdOf(tool, row.input);
        const reuse = reuseOf(keyring, caller.account._id, tool.name, row.input);
        const json = Buffer.from(JSON.stringify(row.input));
        group.push({
          _id: id,
          row: count - 1,
          rowId: row.id,
          tool: tool.name,
          policy: jobPolicyOf(tool, tool.actsOnWorld?.(row.input) ?? false, limits),
          ...(fileId !== null && { fileId }),
          ...(reuse !== null && { reuse }),
          ...(await inputs.store(id, json)),
        });
        bytes += json.length;
        if (group.length >= CHUNK.rows || bytes >= CHUNK.bytes) await flush();
      }
      if (!bad.isEmpty) bad.throw();
      if (count === 0) throw invalidInput([{ pointer: '', message: 'must have at least 1 row' }]);
      await flush();
      await storing;
    } finally {
      // Waits for writes in progress: rows that are stored after the others were discarded would stay.
      await storing.catch(() => undefined);
    }
    return { rows: count, totalCredits, tools: [...tools.values()] };
  };
}
