import type { Db } from 'mongodb';
import type { Checks } from '../../platform/readiness.ts';
import type { Store } from './mongo.ts';

interface ProbeDoc {
  _id: string;
  at: Date;
}

/** Id of the document that all processes write. */
const ID = 'probe';
/** Timeout in milliseconds of each operation of a health check. */
const TIMEOUT_MS = 2000;

/**
 * Checks MongoDB by writing and reading one document with majority concerns, as the ledger steps of a call do. A
 * server that answers `ping` can fail both if it is not primary or its disk is full.
 *
 * @param timeoutMs timeout of each operation in milliseconds
 */
export async function probeDatabase(db: Db, timeoutMs: number): Promise<void> {
  const probes = db.collection<ProbeDoc>('probes', {
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
  });
  await probes.updateOne({ _id: ID }, { $currentDate: { at: true } }, { upsert: true, timeoutMS: timeoutMs });
  await probes.findOne({ _id: ID }, { timeoutMS: timeoutMs });
}

export const mongodbCheck = ({ db }: Pick<Store, 'db'>): Checks => ({
  mongodb: () => probeDatabase(db, TIMEOUT_MS),
});
