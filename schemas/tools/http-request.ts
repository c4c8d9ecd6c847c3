import { readRequestHeaders } from '../formats/requestHeaders.ts';
import { checkSourceUrl, sourceUrl } from '../formats/sourceUrl.ts';
import { parseWebUrl } from '../formats/url.ts';
import { defineTool } from '../tool.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

export default defineTool({
  name: 'http-request',
  title: 'HTTP request',
  description:
    'Sends one HTTP/1.1 request and answers the whole response, with the headers that a browser would hide. Whatever ' +
    'status the target answers is a result, and redirects are not followed: you see the 3xx and its `location`. Content ' +
    'codings (gzip, deflate, br, zstd) are undone while the headers stay as they came; a coding that we do not know leaves ' +
    'the body as it is, in base64. At most 5 MB of body after decoding, beyond that, or when it grows more than a ' +
    'hundredfold, the call is `source_too_large`: nothing is cut silently. Non-public addresses, internal names and ports ' +
    'that browsers refuse are `target_refused`. A connection that fails, an invalid certificate or a response that breaks ' +
    'HTTP or ends half way is `target_failed`; 30 s without the whole response are `target_timeout`. POST, PUT, PATCH and ' +
    'DELETE are sent at most once, whatever happens here, and are not called off by hanging up.',
  price: 2,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: {
      url: sourceUrl('the resource'),
      method: { type: 'string', enum: METHODS, default: 'GET', description: 'Request method.' },
      headers: {
        description:
          'Request headers as a JSON object of names and values, or the same object encoded as a string. An array of ' +
          'values sends the header once for each. At most 100 headers and 32 KB. Other characters than ASCII are sent as ' +
          'UTF-8. `Connection`, `Content-Length`, `Keep-Alive`, `Proxy-*`, `TE`, `Trailer`, `Transfer-Encoding` and ' +
          '`Upgrade` cannot be set, and `Host` only to the host of the URL. `User-Agent`, `Accept` and ' +
          '`Accept-Encoding` are added where you give none; a `Content-Type` is not.',
        oneOf: [
          {
            type: 'object',
            maxProperties: 100,
            additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
          },
          { type: 'string', maxLength: 65_536 },
        ],
      },
      body: {
        type: 'string',
        maxLength: 1_000_000,
        description: 'Request body, sent as it is, in UTF-8. GET and HEAD take none.',
      },
    },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      statusCode: {
        type: 'integer',
        minimum: 100,
        maximum: 999,
        description: 'Status returned by the target.',
      },
      headers: {
        type: 'object',
        additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
        description:
          'Every response header, names in lower case. One that came more than once, such as `set-cookie`, is an array of ' +
          'its values in their order.',
      },
      body: {
        type: 'string',
        description:
          'Response body as text, decoded by its byte order mark, else by the charset of its `Content-Type`, else as UTF-8 ' +
          'where it is that, else as windows-1252; base64 where it is no text. Empty when there is none.',
      },
      bodyEncoding: {
        type: 'string',
        enum: ['text', 'base64'],
        description:
          'How `body` is written: `text`, or `base64` of the bytes for images, sound, video, fonts and whatever else does ' +
          'not read as text.',
      },
      elapsedMs: {
        type: 'integer',
        minimum: 0,
        description:
          'Round-trip time, milliseconds: from the DNS look-up to the last byte of the response, TLS included.',
      },
    },
    required: ['statusCode', 'headers', 'body', 'bodyEncoding', 'elapsedMs'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/', headers: { Accept: 'text/html' } },
      output: {
        statusCode: 200,
        headers: { 'content-type': 'text/html', 'content-length': '32' },
        body: '<!doctype html><title>Hi</title>',
        bodyEncoding: 'text',
        elapsedMs: 42,
      },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout', 'source_too_large'],
  check({ url: text, method, headers, body }) {
    const faults = checkSourceUrl('/url', text);
    const parsed = parseWebUrl(text);
    if (headers !== undefined)
      faults.push(...readRequestHeaders(headers, parsed.kind === 'url' ? parsed.url : null).faults);
    if (body !== undefined && body !== '' && (method === 'GET' || method === 'HEAD'))
      faults.push({ pointer: '/body', message: `cannot be sent with ${method}` });
    return faults;
  },
  actsOnWorld: ({ method }) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS',
});
