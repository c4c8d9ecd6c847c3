import { randomUUID } from 'node:crypto';
import type { Guard } from '../../egress/guard.ts';
import { stubNetwork } from './egress.ts';
import type { LoadedTool } from './tool.ts';

export interface Answer {
  bytes: Buffer;
  headers?: Record<string, string>;
  status?: number;
}

/** A place on the web where a test puts its files. */
export interface Files {
  guard: Guard;
  /** @param name last part of the path; default one that nothing else has. @returns the address */
  put(answer: Answer, name?: string): string;
  close(): void;
}

export async function startFiles(): Promise<Files> {
  const answers = new Map<string, Answer>();
  const network = await stubNetwork({
    handle({ url = '' }, response) {
      const {
        bytes,
        headers = {},
        status = 200,
      } = answers.get(url) ?? { bytes: Buffer.alloc(0), status: 404 };
      response.writeHead(status, headers).end(bytes);
    },
  });
  return {
    guard: network.guard,
    put(answer, name = '') {
      const path = `/${randomUUID()}/${name}`;
      answers.set(path, answer);
      return `http://example.com${path}`;
    },
    close: () => network.close(),
  };
}

/** Has a tool make a picture of one that is put on the web for it. @returns the picture; its other fields are checked */
export async function makeImage(
  tool: LoadedTool,
  files: Files,
  bytes: Buffer,
  body: Record<string, unknown> = {},
): Promise<Buffer> {
  const output = await tool.call({ fileUrl: files.put({ bytes }), ...body }, { egress: files.guard });
  const made = Buffer.from(String(output.fileBase64), 'base64');
  if (made.length !== output.sizeBytes) throw new Error(`${output.sizeBytes} is not the size`);
  const magic = { 'image/png': '\x89PNG', 'image/jpeg': '\xff\xd8\xff', 'image/webp': 'RIFF' };
  const [type] =
    Object.entries(magic).find(([, start]) => made.toString('latin1', 0, 4).startsWith(start)) ?? [];
  if (type !== output.mimeType) throw new Error(`${output.mimeType} is not the type`);
  return made;
}
