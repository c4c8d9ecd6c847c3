import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { badge } from '../../components/text.ts';
import type { Html } from '../../frame/html.ts';

const TONES: Partial<Record<BatchDoc['state'], 'good' | 'bad'>> = { completed: 'good', paused: 'bad' };

/** Whether a batch waits until its owner starts it. */
export const isNotStarted = ({ state, pauseReason }: Pick<BatchDoc, 'state' | 'pauseReason'>): boolean =>
  state === 'paused' && pauseReason === 'not_started';

export const batchBadge = (batch: Pick<BatchDoc, 'state' | 'pauseReason'>): Html =>
  isNotStarted(batch) ? badge('not started') : badge(batch.state, TONES[batch.state]);

/** Number of rows that have ended. */
export const endedRows = ({ charged, refused, cancelled }: BatchDoc): number => charged + refused + cancelled;
