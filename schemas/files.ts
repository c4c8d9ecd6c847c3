import type { FromSchema } from 'json-schema-to-ts';
import { timestamp } from './accountRows.ts';
import { FILE_KEPT_HOURS } from './formats/fileSource.ts';
import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';
import { PDF_BYTES } from './tools/pdf-metadata.ts';

/** Uploaded files, which tools read instead of a URL. Their routes and reference derive from this file. */
const TAG = 'Files';

/** Maximum size of a file in bytes: the largest that a tool reads. */
export const MAX_FILE_BYTES = PDF_BYTES;
/** Maximum number of files of an account. */
export const MAX_FILES = 1000;

export const file = {
  type: 'object',
  properties: {
    id: {
      type: 'string',
      description: 'Id of the file, which every field `fileUrl` takes instead of a URL.',
    },
    name: { type: ['string', 'null'], description: 'Name that was sent with the file.' },
    sizeBytes: { type: 'integer', description: 'Size in bytes.' },
    sha256: { type: 'string', description: 'SHA-256 of the file in hexadecimal.' },
    type: {
      type: 'string',
      description:
        'Media type, by the content of the file; `application/octet-stream` if it is none that a tool reads.',
    },
    expiresAt: { ...timestamp, description: 'When the file is deleted.' },
  },
  required: ['id', 'name', 'sizeBytes', 'sha256', 'type', 'expiresAt'],
  additionalProperties: false,
} as const;
export type FileRow = FromSchema<typeof file>;

export const createFile = defineOperation({
  id: 'createFile',
  method: 'post',
  path: '/api/v1/files',
  summary: 'Upload a file',
  description:
    `Stores a file of at most ${MAX_FILE_BYTES / 1_048_576} MB for ${FILE_KEPT_HOURS} hours, encrypted. The body is the file itself, with any \`Content-Type\`, or ` +
    '`multipart/form-data` with one part `file`. The id of the file is then the `fileUrl` of tool calls, jobs and batches of the account. The name of the file, ' +
    'from which tools derive the name of their result, is that of the part, or of the header `Content-Disposition`. Uploading costs nothing.',
  tag: TAG,
  auth: 'tools',
  upload: true,
  success: { status: 201, schema: file },
  errors: ['malformed_json', 'body_too_large', 'unsupported_media_type', 'limit_reached'],
});

export const listFiles = defineOperation({
  id: 'listFiles',
  method: 'get',
  path: '/api/v1/files',
  summary: 'List files',
  description: 'Returns the uploaded files of the account that have not expired, newest first.',
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(file) },
  errors: [],
});

export const getFile = defineOperation({
  id: 'getFile',
  method: 'get',
  path: '/api/v1/files/{id}',
  summary: 'Get a file',
  description: 'Returns what is known about an uploaded file. Its content cannot be downloaded again.',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: file },
  errors: ['not_found'],
});

export const deleteFile = defineOperation({
  id: 'deleteFile',
  method: 'delete',
  path: '/api/v1/files/{id}',
  summary: 'Delete a file',
  description:
    'Deletes an uploaded file at once. Calls that have not read it yet fail with `not_found`, and are not charged.',
  tag: TAG,
  auth: 'tools',
  success: { status: 204 },
  errors: ['not_found'],
});

export const FILE_OPERATIONS: readonly Operation[] = [createFile, listFiles, getFile, deleteFile];
