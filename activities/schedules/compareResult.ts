import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Registry } from '../../schemas/registry.ts';
import { PICTURES, type PictureDifference, RUN_KEPT_DAYS } from '../../schemas/schedules.ts';
import { ResultGone, type Results } from '../../store/calls/results.ts';
import { type LinkedFile, type Links, linkUrl } from '../../store/files/links.ts';
import { pictureId } from '../../store/schedules/pictures.ts';
import type { KeptPicture } from '../../store/schedules/scheduleDocs.ts';
import type { ComparedResult, Comparison, ComparisonActivities } from '../../workflows/types.ts';
import type { Offload } from '../decoders/offload.ts';
import type { ComparedPictures } from '../images/comparePictures.ts';
import { readImageHeader } from '../images/header.ts';
import type comparePictures from '../jobs/compare-pictures.ts';
import { comparedLines } from './comparedLines.ts';
import { snapshotOf } from './difference.ts';

interface Dependencies {
  registry: Registry;
  results: Results;
  links: Pick<Links, 'store'>;
  offload: Offload;
}

/** Time for the comparison of two of the largest pictures on a slow core, in milliseconds. */
const WORK_MS = 40_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const NO_PICTURE = { picture: null, pictureBytes: 0, difference: null, linked: null } as const;

const figuresOf = ({ changedPixels, pixels }: ComparedPictures, url: string | null): PictureDifference => ({
  changedPixels,
  pixels,
  url,
});

/** Whether a file is a still picture that is not too large to be compared. */
function isComparable(bytes: Buffer): boolean {
  if (bytes.length > PICTURES.bytes) return false;
  try {
    const read = readImageHeader(bytes);
    if (read === null || read.type === 'bmp' || read.header === null) return false;
    const { width, height, frames } = read.header;
    return frames === 1 && width * height <= PICTURES.pixels;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/**
 * Creates the comparison of results with a file. It belongs to the workers of a pool, because pictures are decoded only in their child
 * processes.
 */
export function createComparison({ registry, results, links, offload }: Dependencies): ComparisonActivities {
  /** Reads the earlier picture; null if it is kept no longer. */
  async function readKept({ runId, content }: KeptPicture): Promise<Buffer | null> {
    try {
      return await results.read(runId, content);
    } catch (error) {
      if (error instanceof ResultGone) return null;
      throw error;
    }
  }

  /** Compares two pictures; null if one of them cannot be decoded. */
  async function compare(before: Buffer, after: Buffer) {
    const deadline = Date.now() + WORK_MS;
    const { cancellationSignal: signal } = Context.current();
    try {
      const input = { before, after, deadline };
      return await offload<typeof comparePictures>('compare-pictures', input, { signal, deadline });
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  /** Stores what differs, under an address that ends with the result of the call. */
  async function linkDifference(
    { scheduleId, runId, callId, baseUrl }: Comparison,
    bytes: Buffer,
  ): Promise<{ url: string; linked: LinkedFile }> {
    const difference = { bytes, type: 'image/png', name: 'difference.png' };
    const id = pictureId(scheduleId, runId, 'difference');
    const expiresAt = Date.now() + PICTURES.linkedHours * HOUR_MS;
    const { file, token } = await links.store(callId, difference, { id, expiresAt });
    return { url: linkUrl(baseUrl, callId, token), linked: file };
  }

  async function keep(
    { scheduleId, runId }: Comparison,
    sha256: string,
    bytes: Buffer,
  ): Promise<KeptPicture> {
    const expiresAt = new Date(Date.now() + RUN_KEPT_DAYS * DAY_MS);
    const id = pictureId(scheduleId, runId, 'picture');
    return { runId, sha256, content: await results.write(runId, bytes, expiresAt, id) };
  }

  return {
    async compareResult(comparison): Promise<ComparedResult> {
      const { callId, tool: name, before, stores } = comparison;
      const tool = registry.get(name);
      const output: unknown = JSON.parse((await results.read(callId, comparison.result)).toString());
      if (tool?.raw === undefined || !isRecord(output)) throw new Error(`${name} returns no file`);
      const snapshotWith = (digest?: string) => snapshotOf([comparedLines(tool, output, digest)]);
      const data = output[tool.raw.data];
      const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : null;
      if (bytes === null || !isComparable(bytes)) return { ...NO_PICTURE, snapshot: await snapshotWith() };

      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const old = before === null || before.sha256 === sha256 ? null : await readKept(before);
      const compared = old === null ? null : await compare(old, bytes);
      const isSame =
        before?.sha256 === sha256 ||
        (compared !== null && compared.changedPixels * PICTURES.oneIn <= compared.pixels);
      if (before !== null && isSame)
        return { ...NO_PICTURE, snapshot: await snapshotWith(before.sha256), picture: before };
      const link =
        compared === null || !stores ? null : await linkDifference(comparison, Buffer.from(compared.picture));
      return {
        snapshot: await snapshotWith(),
        picture: stores ? await keep(comparison, sha256, bytes) : null,
        pictureBytes: stores ? bytes.length : 0,
        difference: compared === null ? null : figuresOf(compared, link?.url ?? null),
        linked: link?.linked ?? null,
      };
    },
  };
}
