import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import { createFile, deleteFile, type FileRow, getFile, listFiles } from '../../schemas/files.ts';
import type { FileDoc } from '../../store/files/fileDocs.ts';
import { fileRow } from '../../store/files/fileRow.ts';
import type { Files } from '../../store/files/files.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { Context, State } from '../http/context.ts';
import type { Serve } from '../http/operation.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { Uploads } from './uploads.ts';

interface Dependencies {
  files: Pick<Files, 'find' | 'list' | 'delete' | 'nameOf'>;
  uploads: Pick<Uploads, 'receiveFile'>;
  /** Authenticates by API key. */
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
  serve: Serve;
}

/** Registers the operations of uploaded files. */
export function fileRoutes(router: Router<State>, deps: Dependencies): void {
  const { files, uploads, authenticate, rateLimit, serve } = deps;
  const rowOf = (file: FileDoc): FileRow => fileRow(file, files.nameOf(file));

  router.post(createFile.path, async (ctx) => {
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    const { key } = ctx.state.caller;
    await rateLimit(ctx, () => {
      if (key?.scope !== createFile.auth) throw new ServiceError('insufficient_scope');
    });
    const row = await uploads.receiveFile(ctx);
    ctx.status = createFile.success.status;
    ctx.set('Location', `/api/v1/files/${row._id}`);
    ctx.body = rowOf(row);
  });

  serve(listFiles, async ({ caller, query }) => {
    const { items, nextCursor } = await retryStore(() => files.list(caller.account._id, query));
    return { items: items.map(rowOf), nextCursor };
  });

  serve(getFile, async ({ caller, id }) => {
    const row = await retryStore(() => files.find(caller.account._id, id));
    if (row === null) throw new ServiceError('not_found');
    return rowOf(row);
  });

  serve(deleteFile, async ({ caller, id }) => {
    if (!(await files.delete(caller.account._id, id))) throw new ServiceError('not_found');
    return undefined;
  });
}
