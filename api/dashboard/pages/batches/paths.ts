export const BATCHES_PATH = '/dashboard/batches';
export const NEW_BATCH_PATH = `${BATCHES_PATH}/new`;
/** Receives the file of a new batch. */
export const UPLOAD_PATH = `${BATCHES_PATH}/upload`;

export const batchPath = (id: string): string => `${BATCHES_PATH}/${encodeURIComponent(id)}`;

export const newBatchPath = (tool: string): string => `${NEW_BATCH_PATH}?${new URLSearchParams({ tool })}`;

export const templatePath = (tool: string): string => `${BATCHES_PATH}/templates/${tool}.csv`;
