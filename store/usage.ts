import type { Store } from './mongo.ts';
import { copyJournal } from './projection.ts';

/** What one tool was used for on one day. */
export interface DayOfTool {
  /** Midnight UTC at which the day began. */
  day: Date;
  tool: string;
  calls: number;
  /** Credits charged. */
  charged: number;
}

export interface Usage {
  /** Calls accepted since `from`, by UTC day and tool, oldest day first. */
  since(accountId: string, from: Date): Promise<DayOfTool[]>;
}

export function createUsage(store: Store): Usage {
  return {
    async since(accountId, from) {
      await copyJournal(store, accountId);
      const rows = store.calls.aggregate<
        Omit<DayOfTool, 'day' | 'tool'> & { _id: Pick<DayOfTool, 'day' | 'tool'> }
      >([
        { $match: { accountId, startedAt: { $gte: from } } },
        {
          $group: {
            _id: { day: { $dateTrunc: { date: '$startedAt', unit: 'day' } }, tool: '$tool' },
            calls: { $sum: 1 },
            charged: { $sum: '$charged' },
          },
        },
        { $sort: { '_id.day': 1, '_id.tool': 1 } },
      ]);
      return (await rows.toArray()).map(({ _id, calls, charged }) => ({ ..._id, calls, charged }));
    },
  };
}
