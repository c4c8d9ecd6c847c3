import type Router from '@koa/router';
import { mongodbPieces, putPieceOnce } from '../../store/calls/results.ts';
import { createFiles } from '../../store/files/files.ts';
import { createLinks, LINK_MS, linkUrl, type ProducedFile } from '../../store/files/links.ts';
import { isLiveCall } from '../../store/files/liveCall.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { Answer } from '../calls/toolCall.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import { fileRoutes } from './fileRoutes.ts';
import { linkRoutes } from './linkRoutes.ts';
import { createUploads } from './uploads.ts';

/** Creates uploaded files, which tools read instead of a URL. */
export function createFilesArea(core: ApiCore) {
  const { env, store, keyring, apiKeys, limits, attention, publicUrl } = core;
  const { rateLimit, onFailure, pageLimit } = limits;
  const files = createFiles(store, keyring, env.RATE_LIMIT);
  const uploads = createUploads(files);
  const pieces = mongodbPieces(store);
  const links = createLinks(
    {
      // A replay stores the same bytes again, and must not change when they expire.
      put: (id, sealed, expiresAt) => retryStore(() => putPieceOnce(store, id, sealed, expiresAt)),
      get: (id) => retryStore(() => pieces.get(id)),
    },
    keyring,
  );
  return {
    files,
    fileUploads: uploads,
    /** Stores the file of a call, once however often its result is read. @returns its address */
    async linkFile(
      { callId, startedAt, links: keep }: Pick<Answer, 'callId' | 'startedAt' | 'links'>,
      produced: ProducedFile,
    ): Promise<string> {
      const options = { id: `${callId}:file`, expiresAt: startedAt.getTime() + LINK_MS };
      const { file, token } = await links.store(callId, produced, options);
      keep(file);
      return linkUrl(publicUrl(), callId, token);
    },
    routes(router: Router<State>): void {
      const authenticate = createAuthenticate({ apiKeys, onFailure, attention });
      fileRoutes(router, {
        files,
        uploads,
        authenticate,
        rateLimit,
        serve: createServe(router, { authenticate, rateLimit }),
      });
      linkRoutes(router, {
        links,
        isLive: (callId) => isLiveCall(store, callId),
        pageLimit,
      });
    },
  };
}

export type FilesArea = ReturnType<typeof createFilesArea>;
