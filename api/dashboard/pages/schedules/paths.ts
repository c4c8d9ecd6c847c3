export const SCHEDULES_PATH = '/dashboard/schedules';

export const schedulePath = (id: string): string => `${SCHEDULES_PATH}/${encodeURIComponent(id)}`;
