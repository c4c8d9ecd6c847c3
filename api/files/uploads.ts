import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_FILE_BYTES } from '../../schemas/files.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { FileDoc } from '../../store/files/fileDocs.ts';
import type { Files, Upload } from '../../store/files/files.ts';
import { receiveBody } from '../http/body.ts';
import type { Context } from '../http/context.ts';
import { fieldValue } from '../http/fieldValue.ts';
import { boundaryOf, parametersOf, readParts } from '../http/multipart.ts';
import { createTransferLimit } from '../http/transferLimit.ts';
import { fileNameOf, readFileForm } from './readForm.ts';

/** The input of a tool call that was sent as a form. */
export interface FormInput {
  /** Its fields, with the id of the stored file as `fileUrl`. They are not validated. */
  body: Record<string, unknown>;
  /** SHA-256 of the file in hexadecimal. */
  sha256: string;
  /** Deletes the stored file, when the call has ended. */
  discard(): Promise<void>;
}

/** Receives files in the bodies of requests, and stores them. */
export interface Uploads {
  /**
   * Stores the file of a request: the body itself, or the only part of multipart/form-data, named `file`.
   *
   * @throws ServiceError body_too_large, unsupported_media_type, malformed_json, invalid_input, limit_reached, rate_limited
   */
  receiveFile(ctx: Context): Promise<FileDoc>;
  /**
   * Stores the file of a tool call whose body is multipart/form-data. Returns null if the body is of another type, or the tool
   * reads no file. @throws as `receiveFile`
   */
  receiveInput(ctx: Context, tool: ToolDefinition): Promise<FormInput | null>;
}

/** Files of an account that a process receives at the same time, and how long further ones wait. */
const UPLOADS = { most: 2, waitMs: 10_000, what: 'files of an account are received' } as const;
/** Bytes of a form beside its file. */
const FORM_BYTES = 65_536;

function assertIdentity({ headers }: IncomingMessage): void {
  const { 'content-encoding': coding = 'identity' } = headers;
  if (coding.toLowerCase() !== 'identity')
    throw new ServiceError('unsupported_media_type', {
      detail: 'The file must be sent without Content-Encoding.',
    });
}

const formOf = (ctx: Context, boundary: string, isField: (name: string) => boolean) =>
  readFileForm(readParts(receiveBody(ctx, MAX_FILE_BYTES + FORM_BYTES), boundary), isField);

function uploadOf(ctx: Context): Upload {
  const boundary = boundaryOf(ctx.req);
  if (boundary !== null) return formOf(ctx, boundary, () => false);
  const name = fileNameOf(parametersOf(ctx.get('Content-Disposition')).get('filename'));
  return { name: () => name, chunks: receiveBody(ctx, MAX_FILE_BYTES) };
}

export function createUploads(files: Files): Uploads {
  const transfers = createTransferLimit(UPLOADS);

  async function store(ctx: Context, upload: () => Upload): Promise<FileDoc> {
    assertIdentity(ctx.req);
    const accountId = ctx.state.caller.account._id;
    using _slot = await transfers.acquire(accountId);
    await files.assertRoom(accountId, Number(ctx.get('Content-Length') || 0));
    return await files.create(accountId, upload());
  }

  return {
    receiveFile: (ctx) => store(ctx, () => uploadOf(ctx)),

    async receiveInput(ctx, { input: { properties } }) {
      const boundary = 'fileUrl' in properties ? boundaryOf(ctx.req) : null;
      if (boundary === null) return null;
      // Unknown fields are left for the validator to report.
      const form = formOf(ctx, boundary, (name) => name !== 'fileUrl');
      const { _id: id, accountId, sha256 } = await store(ctx, () => form);
      const fields = [...form.fields].map(([name, text]) => [
        name,
        fieldValue(Object.hasOwn(properties, name) ? (properties[name] ?? {}) : {}, text),
      ]);
      return {
        body: { ...Object.fromEntries(fields), fileUrl: id },
        sha256,
        discard: async () => void (await files.delete(accountId, id)),
      };
    },
  };
}
