import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import type { Context, State } from '../http/context.ts';

/** Names of packed clients: those of `npm pack`, of archives, and of wheels (PEP 427). */
const FILE = /^(?:utility[-_]tools[-_][a-z-]+|n8n-nodes-utility-tools)-\d[\w.-]*\.(?:tgz|whl)$/;

/**
 * Serves the packed clients, so that `npm install` and `pip install` take them from the address of the installation.
 * Their folder leads to the guide, which names them.
 *
 * @param folder folder that `npm run clients` fills; may be missing
 */
export function clientFileRoutes(router: Router<State>, folder: string): void {
  router.get('/clients', (ctx: Context) => ctx.redirect('/docs/clients'));
  router.get('/clients/:file', async (ctx: Context) => {
    const { file = '' } = ctx.params;
    const path = FILE.test(file) ? join(folder, file) : null;
    const found = path === null ? null : await stat(path).catch(() => null);
    if (path === null || found === null || !found.isFile()) throw new ServiceError('not_found');
    ctx.set({ 'Cache-Control': 'public, no-cache', 'X-Content-Type-Options': 'nosniff' });
    ctx.lastModified = found.mtime;
    ctx.type = 'application/octet-stream';
    ctx.length = found.size;
    ctx.body = createReadStream(path);
  });
}
