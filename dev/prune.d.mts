export function unusedFiles(
  modules: string,
  system: { platform: NodeJS.Platform; arch: NodeJS.Architecture },
): string[];
