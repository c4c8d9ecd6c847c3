import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { MAX_FILE_BYTES } from '../../schemas/files.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';
import type { Upload } from '../../store/files/files.ts';
import { contentOf, type readParts } from '../http/multipart.ts';

/** A form with one file. */
interface FileForm extends Upload {
  /** The texts of the other fields; complete when all chunks have arrived. */
  fields: ReadonlyMap<string, string>;
}

/** Maximum size of the texts of all other fields in bytes, and their maximum number; more than any tool has. */
const TEXTS = { bytes: 65_536, count: 100 } as const;
const MAX_NAME = 255;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Removes folders from a name, and cuts it to `MAX_NAME` characters; null if nothing is left. */
export function fileNameOf(text: string | null | undefined): string | null {
  const name = (text?.split(/[/\\]/).at(-1) ?? '').slice(0, MAX_NAME).toWellFormed();
  return name === '' ? null : name;
}

const refused = (field: string, message: string): ServiceError =>
  invalidInput([{ pointer: field === '' ? '' : `/${escapePointer(field)}`, message }]);

const TOO_MUCH_TEXT = `The fields beside the file must have at most ${TEXTS.bytes} bytes.`;

async function textOf(content: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const bytes = await contentOf(content, maxBytes, TOO_MUCH_TEXT);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new ServiceError('malformed_json', { detail: 'A field of the form is not UTF-8.', cause: error });
  }
}

/**
 * Reads a form with one file, in the part `file`, which may be anywhere in it. The chunks are those of the file, and end when the
 * whole form has arrived.
 *
 * @param isField whether the form may have another field of this name
 * @throws the chunks: ServiceError invalid_input, body_too_large, malformed_json; what `parts` throws
 */
export function readFileForm(
  parts: ReturnType<typeof readParts>,
  isField: (name: string) => boolean,
): FileForm {
  const fields = new Map<string, string>();
  let found: { name: string | null } | null = null;

  async function* chunks(): AsyncGenerator<Buffer> {
    let size = 0;
    let left: number = TEXTS.bytes;
    for await (const { name, fileName, content } of parts) {
      if (name !== 'file') {
        if (!isField(name)) throw refused(name, 'is not accepted beside "file"');
        if (fields.has(name)) throw refused(name, 'is sent twice');
        if (fields.size >= TEXTS.count) throw refused('', `must not have more than ${TEXTS.count} fields`);
        const text = await textOf(content, left);
        left -= Buffer.byteLength(text);
        fields.set(name, text);
        continue;
      }
      if (found !== null) throw refused(name, 'is sent twice');
      found = { name: fileNameOf(fileName) };
      for await (const chunk of content) {
        size += chunk.length;
        if (size > MAX_FILE_BYTES)
          throw new ServiceError('body_too_large', {
            detail: `The file must have at most ${MAX_FILE_BYTES} bytes.`,
          });
        yield chunk;
      }
    }
    if (found === null) throw refused('file', 'is missing');
  }

  return { name: () => found?.name ?? null, chunks: chunks(), fields };
}
