import { inClientSpan } from '../platform/trace.ts';
import type { Guard } from './guard.ts';

/**
 * Wraps a guard so that its connections and requests have spans, if a span is active when they start. The spans do not
 * contain the target, and the target receives no trace id.
 */
export const tracedGuard = (guard: Guard): Guard => ({
  ...guard,
  connect: (vetted, options) => inClientSpan('egress connect', () => guard.connect(vetted, options)),
  request: (target, options) => inClientSpan('egress request', () => guard.request(target, options)),
  fetch: (target, options) => inClientSpan('egress fetch', () => guard.fetch(target, options)),
});
