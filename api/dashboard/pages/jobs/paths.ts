export const JOBS_PATH = '/dashboard/jobs';

/** The page of a job, or of a row of a batch. */
export const jobPath = (id: string): string => `${JOBS_PATH}/${encodeURIComponent(id)}`;
