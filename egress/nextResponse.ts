import type { ClientRequest, IncomingMessage } from 'node:http';
import { targetFailed } from './failure.ts';
import { INTERIM_RESPONSES } from './limits.ts';

/**
 * Waits for the headers of the final response to a request. Its connection ends with every failure.
 *
 * @throws ServiceError `target_failed` for a status below 100, another protocol or too many interim responses; what the
 *   request fails with
 */
export function nextResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interim = 0;
    request.on('response', (message) => {
      // Later errors are reported to the reader of the body.
      message.on('error', () => undefined);
      const { statusCode = 0 } = message;
      // RFC 9110 section 15: there are 100 to 599; Node's parser takes any three digits.
      if (statusCode >= 100) return resolve(message);
      message.destroy();
      reject(targetFailed('protocol'));
    });
    request.on('information', () => {
      interim += 1;
      if (interim > INTERIM_RESPONSES)
        request.destroy(targetFailed('protocol', { detail: 'The target sent too many interim responses.' }));
    });
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(targetFailed('protocol', { detail: 'The target switched to another protocol.' }));
    });
    request.on('error', reject);
  });
}
