import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeBilevelPng } from '../../activities/images/png.ts';
import type { Guard } from '../../egress/guard.ts';
import { stubNetwork } from './egress.ts';
import type { LoadedTool } from './tool.ts';

export interface Answer {
  bytes: Buffer;
  headers?: Record<string, string>;
  status?: number;
}

/** A web server for files that a test adds. */
export interface Files {
  guard: Guard;
  /** Serves a file. @param name last part of the path; unique by default. @returns the URL */
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

/** Serves an image, calls a tool with its URL and checks the output. @returns the image that the tool created */
export async function makeImage(
  tool: LoadedTool,
  files: Files,
  bytes: Buffer,
  body: Record<string, unknown> = {},
): Promise<Buffer> {
  const output = await tool.call({ fileUrl: files.put({ bytes }), ...body }, { egress: files.guard });
  const made = Buffer.from(String(output.fileBase64), 'base64');
  if (made.length !== output.sizeBytes)
    throw new Error(`sizeBytes is ${output.sizeBytes}, which is not the size of the file`);
  const magic = { 'image/png': '\x89PNG', 'image/jpeg': '\xff\xd8\xff', 'image/webp': 'RIFF' };
  const [type] =
    Object.entries(magic).find(([, start]) => made.toString('latin1', 0, 4).startsWith(start)) ?? [];
  if (type !== output.mimeType)
    throw new Error(`mimeType is ${output.mimeType}, which is not the type of the file`);
  return made;
}

/** Returns a valid PNG of 7,000 x 6,000 pixels in 6 KB, which is slightly more than any tool accepts. */
export const makeTooLarge = (): Buffer =>
  encodeBilevelPng(7000, Array.from({ length: 6000 }, () => Buffer.alloc(0)).fill(Buffer.alloc(7000 / 8)));

/** The outcome and cost of a call that ran in a separate process. */
export interface Cost {
  /** `ok`, or the error code when the call failed. */
  outcome: string;
  ms: number;
  /** Peak memory of the process and its child processes during the call, minus their memory before it, in bytes. */
  growth: number;
}

/** Calls a tool once for each picture, in sequence, in a new process and returns the cost of each call. */
export async function costsOf(
  tool: string,
  pictures: readonly Buffer[],
  body: Record<string, unknown> = {},
): Promise<Cost[]> {
  const folder = await mkdtemp(join(tmpdir(), 'costs-'));
  try {
    const paths = pictures.map((_, at) => join(folder, String(at)));
    for (const [at, bytes] of pictures.entries()) await writeFile(paths[at] ?? '', bytes);
    const child = fileURLToPath(new URL('./image-child.ts', import.meta.url));
    const args = [child, tool, JSON.stringify(body), ...paths];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return JSON.parse(stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
