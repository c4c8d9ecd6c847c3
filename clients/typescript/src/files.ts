import type { Download } from './download.ts';
import type { UploadedFile } from './generated/types.ts';
import type { RequestOptions } from './options.ts';
import { requestOf, rowOf } from './rest.ts';
import type { Transport } from './transport.ts';

const PATH = '/api/v1/files';
const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;

/** A file with its name, from which tools derive that of their result. */
export interface NamedFile {
  content: Blob;
  name: string;
}

/** Uploaded files, whose ids every field `fileUrl` takes for 24 hours, and the files of results with `output: "link"`. */
export class Files {
  readonly #send: Transport;
  readonly #download: Download;

  constructor(send: Transport, download: Download) {
    this.#send = send;
    this.#download = download;
  }

  /** Uploads a file. @param name its name, from which tools derive that of their result */
  async upload(content: Blob, name: string, options?: RequestOptions): Promise<UploadedFile> {
    const body = new FormData();
    body.append('file', content, name);
    // Repeating it only stores the file once more.
    const request = { ...requestOf({ method: 'POST', path: PATH }), body, always: true };
    return rowOf<UploadedFile>(await this.#send(request, options));
  }

  /**
   * Downloads the file of a result with `output: "link"`, without your key. Continues after a lost connection where it ended.
   *
   * @param fileUrl that of the output
   */
  download(fileUrl: string, options: Pick<RequestOptions, 'signal'> = {}): Promise<Blob> {
    return this.#download(fileUrl, options.signal);
  }

  /** Returns what is known about a file. */
  async get(id: string, options?: RequestOptions): Promise<UploadedFile> {
    return rowOf<UploadedFile>(await this.#send(requestOf({ method: 'GET', path: pathOf(id) }), options));
  }

  /** Deletes a file at once. */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.#send(requestOf({ method: 'DELETE', path: pathOf(id) }), options);
  }
}
