import { invalidInput } from '../../schemas/errors.ts';
import { MAX_CREDITS } from './adjustment.ts';

/** Parses the threshold of an alert in credits. @throws ServiceError invalid_input */
export function parseThreshold(text: string): number {
  const threshold = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (threshold < 1 || threshold > MAX_CREDITS)
    throw invalidInput([
      { pointer: '/threshold', message: `must be a whole number from 1 to ${MAX_CREDITS}` },
    ]);
  return threshold;
}
