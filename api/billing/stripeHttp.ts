import Stripe from 'stripe';
import { isRecord } from '../../schemas/isRecord.ts';

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;

/**
 * Creates the HTTP client of Stripe's library. The library takes every JSON body without a member `error` for a result, whatever the
 * status, so that a proxy's 503 would look like a payment without a state. This client gives such responses an error of Stripe.
 */
export function createStripeHttp(): HttpClient {
  const http = Stripe.createNodeHttpClient();
  return {
    getClientName: () => http.getClientName(),
    async makeRequest(...request) {
      const response = await http.makeRequest(...request);
      const read = response.toJSON.bind(response);
      response.toJSON = async () => {
        const body: unknown = await read();
        const status = response.getStatusCode();
        if (status < 400 || (isRecord(body) && isRecord(body.error))) return body;
        return { error: { type: 'api_error', message: `status ${status} without an error of Stripe` } };
      };
      return response;
    },
  };
}
