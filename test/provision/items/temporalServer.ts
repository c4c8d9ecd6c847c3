import { readFileSync } from 'node:fs';
import { goProgram } from '../goProgram.ts';

/** The version that production runs. */
function productionVersion(): string {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
  const [, version] = /image: temporalio\/server:(\S+)/.exec(compose) ?? [];
  if (version === undefined) throw new Error('docker-compose.yml names no version of temporalio/server');
  return version;
}

const module = (path: string): string => `go.temporal.io/server/${path}@v${productionVersion()}`;

export const temporalServer = goProgram({
  name: 'temporal-server',
  source: module('cmd/server'),
  built: 'server',
  usually: 300,
});

/** Creates and upgrades the schema of Temporal's databases. */
export const temporalSqlTool = goProgram({
  name: 'temporal-sql-tool',
  source: module('cmd/tools/sql'),
  built: 'sql',
  usually: 60,
});
