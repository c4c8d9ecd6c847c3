import { findGoProgram } from './goProgram.ts';

/** Returns the path of Helm 3. */
export const findHelm = (log: (line: string) => void): Promise<string> =>
  findGoProgram(
    {
      name: 'helm',
      source: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
      built: 'helm',
      version: { args: ['version'], pattern: /\bv3\./ },
    },
    log,
  );
