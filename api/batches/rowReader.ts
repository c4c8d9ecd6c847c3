import type { Fault } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { exceededBound } from '../http/jsonBounds.ts';

/** A row of a body, as it was sent. */
export interface SentRow {
  /** Id that the caller gave it; null if there is none. */
  id: string | null;
  tool: string;
  input: Record<string, unknown>;
  /** Size of the row in bytes. */
  bytes: number;
  rowPointer: string;
  /** Pointer of the input, to which those of its faults are appended. */
  pointer: string;
  /** Pointer of the tool; null if the body names one tool for all rows. */
  toolPointer: string | null;
  /** Where the fault of a field is, for its message, such as `line 8`. @param field first segment of its pointer */
  place(field: string): string;
}

/** A row that cannot be read. */
export interface BadRow {
  fault: Fault;
}

/** The rows of a body as they arrive. Never holds more than one of them, and what a chunk of the body contains. */
export type Rows = AsyncGenerator<SentRow | BadRow>;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Parses the JSON object of a row. @returns the fault if it is none, or one that takes long to check */
export function parseRow(
  json: Uint8Array,
  pointer: string,
  place: string,
): { value: Record<string, unknown> } | BadRow {
  const bad = (message: string): BadRow => ({ fault: { pointer, message: `${place}: ${message}` } });
  const exceeded = exceededBound(json);
  if (exceeded !== null) return bad(exceeded.message);
  try {
    const value: unknown = JSON.parse(decoder.decode(json));
    return isRecord(value) ? { value } : bad('must be a JSON object');
  } catch {
    return bad('is not valid JSON in UTF-8');
  }
}
