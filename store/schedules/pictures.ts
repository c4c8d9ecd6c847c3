import { RUN_KEPT_DAYS } from '../../schemas/schedules.ts';
import { expireStored } from '../calls/results.ts';
import type { Store } from '../mongo/mongo.ts';
import type { KeptPicture } from './scheduleDocs.ts';

type Stored = Pick<Store, 'results'>;

const DAY_MS = 86_400_000;

/** Id under which a picture of a run is stored, so that a repetition replaces it and all of a schedule can be deleted. */
export const pictureId = (scheduleId: string, runId: string, kind: 'picture' | 'difference'): string =>
  `${scheduleId}:${runId}:${kind}`;

/** Deletes the pictures of a schedule. */
export async function deletePictures({ results }: Stored, scheduleId: string): Promise<void> {
  // Ids begin with that of the schedule, and `;` is the character after `:`.
  await results.deleteMany({ _id: { $gte: `${scheduleId}:`, $lt: `${scheduleId};` } });
}

/** Lets a picture expire some time after the run that was compared with it last, or now if it is compared no more. */
export const expirePicture = (store: Stored, { content }: KeptPicture, isUsed: boolean): Promise<void> =>
  expireStored(store, content, new Date(Date.now() + (isUsed ? RUN_KEPT_DAYS * DAY_MS : 0)));
