import { type Fault, invalidInput, ServiceError } from '../../schemas/errors.ts';
import { FILE_KEPT_HOURS, fileIdOf } from '../../schemas/formats/fileSource.ts';
import type { Registry } from '../../schemas/registry.ts';
import {
  MAX_JOB_BYTES,
  type NewScheduleBody,
  type OnChange,
  type ScheduleTarget,
} from '../../schemas/schedules.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { Caller } from '../http/context.ts';

interface Dependencies {
  registry: Registry;
  toolCallService: Pick<ToolCallService, 'authorize' | 'validate'>;
}

type SentTarget = Pick<NewScheduleBody, 'job' | 'batch'>;

/** Returns the faults of an input, which gets its defaults. @param pointer where it is in the body */
function faultsOf(check: () => unknown, pointer: string): Fault[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof ServiceError) || error.members.errors === undefined) throw error;
    return error.members.errors.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }));
  }
}

/** Returns the faults of an input that the tool accepts in a call, but a schedule does not. */
function repeatFaults(tool: ToolDefinition, input: Record<string, unknown>, pointer: string): Fault[] {
  if (fileIdOf(tool, input) === null) return [];
  const message = `must be a URL: uploaded files are deleted after ${FILE_KEPT_HOURS} hours`;
  return [{ pointer: `${pointer}/fileUrl`, message }];
}

/** Checks that the results of a schedule can be compared, if they are to be. @throws ServiceError invalid_input */
export function assertComparable(target: ScheduleTarget, onChange: OnChange): void {
  const inputs: readonly Record<string, unknown>[] =
    'job' in target ? [target.job.input] : target.batch.inputs;
  if (onChange === 'off' || inputs.every(({ output }) => output !== 'link')) return;
  const message = 'is not possible with "output": "link", because the address is another one each time';
  throw invalidInput([{ pointer: '/onChange', message }]);
}

/** Creates the check of the job or the batch of a schedule, before anything is stored. */
export function createCheckTarget({ registry, toolCallService }: Dependencies) {
  function toolOf(caller: Caller, name: string, pointer: string): ToolDefinition {
    const tool = registry.get(name);
    if (tool === undefined) throw new ServiceError('unknown_tool');
    toolCallService.authorize(caller, tool);
    const secrets = secretFields(tool);
    if (secrets.length === 0) return tool;
    const message = `cannot be scheduled: the inputs of a schedule are stored, and secrets (${secrets.join(', ')}) never are`;
    throw invalidInput([{ pointer, message }]);
  }

  /**
   * Checks the tool and all inputs, which get their defaults.
   *
   * @returns null if the body has neither a job nor a batch
   * @throws ServiceError unknown_tool, invalid_input; the errors of `authorize`
   */
  return function checkTarget(caller: Caller, { job, batch }: SentTarget): ScheduleTarget | null {
    if (job !== undefined && batch !== undefined)
      throw invalidInput([{ pointer: '/batch', message: 'is not possible together with job' }]);
    if (job !== undefined) {
      const tool = toolOf(caller, job.tool, '/job/tool');
      const faults = [
        ...faultsOf(() => toolCallService.validate(tool, job.input), '/job/input'),
        ...repeatFaults(tool, job.input, '/job/input'),
      ];
      if (Buffer.byteLength(JSON.stringify(job.input)) > MAX_JOB_BYTES)
        faults.push({ pointer: '/job/input', message: `must have at most ${MAX_JOB_BYTES} bytes as JSON` });
      if (faults.length > 0) throw invalidInput(faults);
      return { job };
    }
    if (batch === undefined) return null;
    const tool = toolOf(caller, batch.tool, '/batch/tool');
    const faults = batch.inputs.flatMap((input, row) => [
      ...faultsOf(() => toolCallService.validate(tool, input), `/batch/inputs/${row}`),
      ...repeatFaults(tool, input, `/batch/inputs/${row}`),
    ]);
    if (faults.length > 0) throw invalidInput(faults);
    return { batch };
  };
}
