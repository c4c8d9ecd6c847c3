import type { Db } from 'mongodb';

interface ProbeDoc {
  _id: string;
  at: Date;
}

/** All processes write the same document. */
const ID = 'probe';

/**
 * Writes and reads one document with majority concerns, as each step of a call does. A server that answers `ping` may
 * still refuse both: it is no primary, or its disk is full.
 *
 * @param timeoutMs for each of the two, in milliseconds; nothing of them goes on afterwards
 */
export async function probeDatabase(db: Db, timeoutMs: number): Promise<void> {
  const probes = db.collection<ProbeDoc>('probes', {
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
  });
  await probes.updateOne({ _id: ID }, { $currentDate: { at: true } }, { upsert: true, timeoutMS: timeoutMs });
  await probes.findOne({ _id: ID }, { timeoutMS: timeoutMs });
}
