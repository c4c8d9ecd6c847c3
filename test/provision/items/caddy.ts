import { readFileSync } from 'node:fs';
import { goProgram } from '../goProgram.ts';

const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
const [, version] = /image: caddy:(\S+)/.exec(compose) ?? [];

/** The reverse proxy of docker-compose.yml, in its version. */
export const caddy = goProgram({
  name: 'caddy',
  source: `github.com/caddyserver/caddy/v2/cmd/caddy@v${version}`,
  check: ['version'],
  usually: 240,
});
