export function machineEnv(): Record<string, string>;
export function serviceEnv(names: readonly string[]): Record<string, string>;
export function clientEnv(): NodeJS.ProcessEnv;
export function cacheFolder(): string;
