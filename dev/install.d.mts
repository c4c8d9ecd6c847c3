export function isInstalled(root: string): boolean;
export function install(
  root: string,
  run: (file: string, args: string[], env: NodeJS.ProcessEnv) => Promise<number>,
): Promise<void>;
