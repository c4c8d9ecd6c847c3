import {
  type AccountToolDefinition,
  accountBalance,
  accountCalls,
  accountPlan,
} from '../../schemas/accountTools.ts';
import { type Fault, invalidInput } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolInput } from '../../schemas/tool.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import { accountRow, callRow } from '../account/rows.ts';
import type { Caller } from '../http/context.ts';
import { createValidator } from '../http/validator.ts';

type Fields = Record<string, unknown>;

/**
 * The account tools by name. Each function validates its arguments and returns the result. @throws ServiceError
 * invalid_input
 */
type AccountTools = ReadonlyMap<string, (caller: Caller, args: Fields) => Promise<Fields>>;

export function createAccountTools(registry: Registry, lists: Lists): AccountTools {
  const compile = createValidator();
  const tool = <D extends AccountToolDefinition>(
    definition: D,
    run: (caller: Caller, input: ToolInput<D>) => Promise<Fields>,
  ): [string, (caller: Caller, args: Fields) => Promise<Fields>] => {
    const validate = compile<ToolInput<D>>(definition.input);
    return [definition.name, (caller, args) => run(caller, validate(args))];
  };

  return new Map([
    tool(accountBalance, async ({ account }) => accountRow(account)),
    tool(accountCalls, async ({ account }, { tool: name, state, ...page }) => {
      const filter = { tool: name, state, from: undefined, to: undefined };
      const { items, nextCursor } = await lists.calls(account._id, filter, page);
      return { items: items.map(callRow), nextCursor };
    }),
    tool(accountPlan, async ({ account }, { calls }) => {
      const faults: Fault[] = [];
      let price = 0;
      for (const [index, planned] of calls.entries()) {
        const known = registry.get(planned.tool);
        if (known === undefined) faults.push({ pointer: `/calls/${index}/tool`, message: 'is not a tool' });
        else price += known.price * planned.count;
      }
      if (faults.length > 0) throw invalidInput(faults);
      const { available } = accountRow(account);
      return { price, available, sufficient: available >= price };
    }),
  ]);
}
