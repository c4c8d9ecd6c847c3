import type { Guard } from '../../egress/guard.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { isLocalhost } from '../../schemas/formats/url.ts';

const LOOKUP_TIMEOUT_MS = 10_000;

/**
 * Checks that a URL is https and its host is public, or that its host is exactly `localhost`.
 *
 * @param pointer where the URL is in the body
 * @throws ServiceError invalid_input, target_refused, host_not_found, target_failed, target_timeout
 */
export async function checkReceiverUrl(egress: Guard, url: string, pointer: string): Promise<void> {
  const target = egress.parseTarget(url, { kind: 'url', pointer });
  if (target.url === null || (!target.url.secure && !isLocalhost(url)))
    throw invalidInput([{ pointer, message: 'must be https (http is permitted only for localhost)' }]);
  // The egress guard's exception for `localhost` would also permit `localhost.` with a trailing dot, which is refused
  // like every other single-label name.
  if (target.host.kind === 'name' && target.host.name === 'localhost' && !isLocalhost(url))
    throw new ServiceError('target_refused');
  await egress.vet(target, {
    signal: AbortSignal.timeout(LOOKUP_TIMEOUT_MS),
    deadline: Date.now() + LOOKUP_TIMEOUT_MS,
  });
}
