import { MAX_BATCH_BYTES } from '../../../schemas/batches.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import { receiveBody } from '../../http/body.ts';
import type { Context } from '../../http/context.ts';
import { boundaryOf, contentOf, readParts } from '../../http/multipart.ts';

/** A form with a file, which arrives after the fields. */
export interface UploadForm {
  fields: URLSearchParams;
  /** The content of the file as it arrives. */
  file: AsyncIterable<Buffer>;
}

/** Limits of the fields of a form with a file. */
const MOST_FIELDS = 20;
const FIELD_BYTES = 16_384;
/** Maximum size of a form in bytes: a file, and the fields with their headers. */
const FORM_BYTES = MAX_BATCH_BYTES + MOST_FIELDS * 2 * FIELD_BYTES;

/**
 * Reads a form with a file as it arrives. Its fields come before the file, so that they can be checked first.
 *
 * @param use is called with the form when the file begins
 * @throws ServiceError unsupported_media_type, body_too_large, malformed_json
 */
export async function readUpload(ctx: Context, use: (form: UploadForm) => Promise<void>): Promise<void> {
  const boundary = boundaryOf(ctx.req);
  if (boundary === null)
    throw new ServiceError('unsupported_media_type', {
      detail: 'The form must be sent as multipart/form-data.',
    });
  const parts = readParts(receiveBody(ctx, FORM_BYTES), boundary);
  const fields = new URLSearchParams();
  let count = 0;
  // `use` ends the loop, which ends the reader.
  for await (const { name, fileName, content } of parts) {
    if (fileName !== null) return await use({ fields, file: content });
    if (++count > MOST_FIELDS) break;
    fields.append(name, (await contentOf(content, FIELD_BYTES)).toString());
  }
  throw new ServiceError('malformed_json', { detail: 'The form has no file.' });
}
