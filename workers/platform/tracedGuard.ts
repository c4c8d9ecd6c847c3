import type { Guard } from '../../egress/guard.ts';
import { inClientSpan } from '../../store/trace.ts';

/**
 * Adds a span to each connection and request of a guard that is made while a span is active. The span names no target,
 * and the target receives no trace id.
 */
export const tracedGuard = (guard: Guard): Guard => ({
  ...guard,
  connect: (vetted, options) => inClientSpan('egress connect', () => guard.connect(vetted, options)),
  request: (target, options) => inClientSpan('egress request', () => guard.request(target, options)),
  fetch: (target, options) => inClientSpan('egress fetch', () => guard.fetch(target, options)),
});
