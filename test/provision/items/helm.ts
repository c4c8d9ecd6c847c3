import { goProgram } from '../goProgram.ts';

export const helm = goProgram({
  name: 'helm',
  source: 'helm.sh/helm/v3/cmd/helm@v3.22.0',
  check: ['version'],
  usually: 90,
});
