import type { IndexDescription } from 'mongodb';
import type { Component } from '../../schemas/status.ts';

/**
 * Scheduled jobs whose last result is stored. The script `docker/mongodb/backup.sh` writes the document of `backup`.
 */
export const MAINTENANCE = ['audit', 'backup'] as const;

/** The last results of a job. */
export interface MaintenanceDoc {
  _id: (typeof MAINTENANCE)[number];
  /** When the job last completed. An audit that found differences has completed. */
  succeededAt?: Date;
  /** When the job last failed to complete. */
  failedAt?: Date;
  /** Number of differences that the last completed audit found. */
  drift?: number;
}

/** The checks of one UTC day, for the status page; see `statusDays.ts`. The document's id is the day, such as `2026-11-24`. */
export interface StatusDayDoc {
  _id: string;
  /** Midnight UTC. */
  day: Date;
  /** The recorded minutes, by their number since midnight. */
  minutes: Record<string, true>;
  /** Numbers of minutes in which a component worked, and in which it failed. Missing: 0. */
  ok?: Partial<Record<Component, number>>;
  failed?: Partial<Record<Component, number>>;
}

/** An outage of a component; see `incidents.ts`. */
export interface IncidentDoc {
  _id: string;
  component: Component;
  /** Time of the first failed check. */
  startedAt: Date;
  /** Time of the first successful check; null while the incident is open. */
  endedAt: Date | null;
  /** Set while the incident is open. */
  open?: true;
  /** Number of failed checks. */
  failures: number;
  /** Time of the first successful check since the last failed one, while the incident is open. */
  okSince?: Date;
  /** Texts of operators, oldest first. */
  updates: { reference: string; at: Date; text: string }[];
}

export const BROADCAST_LEVELS = ['info', 'warning'] as const;

type BroadcastLevel = (typeof BROADCAST_LEVELS)[number];

/** An operator's notice on every page of the dashboard; see `broadcast.ts`. */
export interface BroadcastDoc {
  _id: string;
  /** Identifies the notice, so that a user who has dismissed it sees the next one. */
  id: string;
  text: string;
  level: BroadcastLevel;
  expiresAt: Date;
}

/** The state of a task queue at a minute. */
export interface PoolSample {
  /** Tasks that wait for a worker. */
  waiting: number;
  /** Calls that wait or run; null for queues that run no calls. */
  calls: number | null;
  workers: number;
}

/** The states of all task queues at a minute, by queue; see `poolSamples.ts`. */
export interface PoolSampleDoc {
  _id: string;
  at: Date;
  queues: Record<string, PoolSample>;
}

/** Retention of the checks of the status page and of ended incidents in seconds. Longer than the status page shows. */
const STATUS_SECONDS = 100 * 86_400;

export const STATUS_DAY_INDEXES: IndexDescription[] = [
  { key: { day: 1 }, expireAfterSeconds: STATUS_SECONDS },
];

export const INCIDENT_INDEXES: IndexDescription[] = [
  { key: { startedAt: -1 } },
  { key: { endedAt: 1 }, expireAfterSeconds: STATUS_SECONDS },
  { key: { component: 1 }, unique: true, partialFilterExpression: { open: true } },
];

export const BROADCAST_INDEXES: IndexDescription[] = [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }];

/** Retention of the recorded states of queues in seconds. Longer than the hour that the operators' page shows. */
const SAMPLE_SECONDS = 2 * 3600;

export const POOL_SAMPLE_INDEXES: IndexDescription[] = [
  { key: { at: 1 }, expireAfterSeconds: SAMPLE_SECONDS },
];
