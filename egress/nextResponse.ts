import type { ClientRequest, IncomingMessage } from 'node:http';
import { targetFailed } from './failure.ts';
import { INTERIM_RESPONSES } from './limits.ts';

/**
 * Waits for the headers of the final response to a request. On failure, the connection of the request is closed.
 *
 * @throws ServiceError `target_failed` for a status below 100, a switch to another protocol or too many interim responses;
 *   the error that the request emits
 */
export function nextResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interim = 0;
    request.on('response', (message) => {
      // An `error` event without a listener would end the process. Code that reads the body still gets the error.
      message.on('error', () => undefined);
      const { statusCode = 0 } = message;
      // Status codes start at 100 (RFC 9110 section 15), but Node's parser accepts any three digits.
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
