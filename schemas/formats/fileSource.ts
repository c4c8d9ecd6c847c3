import { type Fault, ServiceError } from '../errors.ts';
import type { ObjectSchema } from '../tool.ts';
import { checkSourceUrl, sourceUrl } from './sourceUrl.ts';

/** How long an uploaded file is kept, in hours. */
export const FILE_KEPT_HOURS = 24;

const FILE_ID = /^file_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is the id of an uploaded file. No URL is. */
export const isFileId = (text: string): boolean => FILE_ID.test(text);

/**
 * Input field `fileUrl` of a tool that reads a file: its URL, or the id of an uploaded file. The field must have this name.
 *
 * @param source what the file is, with its article, such as "a PDF"
 */
export const fileSource = (source: string) => {
  const url = sourceUrl(source);
  return {
    ...url,
    description: `${url.description} Or the id (\`file_…\`) of a file that was uploaded with \`POST /api/v1/files\`.`,
  } as const;
};

/** Checks of the field `fileUrl` that JSON Schema cannot express. That the account has the file is checked when the call starts. */
export function checkFileSource(text: string): Fault[] {
  if (isFileId(text)) return [];
  if (text.startsWith('file_')) return [{ pointer: '/fileUrl', message: 'is not the id of a file' }];
  return checkSourceUrl('/fileUrl', text);
}

/** Returns the id of the uploaded file that the input of a tool names; null if it names none. */
export function fileIdOf(
  { input: { properties } }: { input: ObjectSchema },
  { fileUrl }: Record<string, unknown>,
): string | null {
  return 'fileUrl' in properties && typeof fileUrl === 'string' && isFileId(fileUrl) ? fileUrl : null;
}

/** The error of a call whose uploaded file does not exist, or no longer exists. */
export const fileNotFound = (cause?: unknown): ServiceError =>
  new ServiceError('not_found', {
    detail: `The account has no file with the id in "fileUrl". Files are deleted ${FILE_KEPT_HOURS} hours after their upload.`,
    cause,
  });
