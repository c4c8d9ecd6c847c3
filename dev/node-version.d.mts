export function noticeOf(version: string): string | null;
