import { EXAMPLE_PAGE } from '../formats/examplePage.ts';
import { readRequestHeaders } from '../formats/requestHeaders.ts';
import { RESPONSE_WARNING_CODES, RESPONSE_WARNINGS } from '../formats/responseWarnings.ts';
import { checkSourceUrl, sourceUrl } from '../formats/sourceUrl.ts';
import { parseWebUrl } from '../formats/url.ts';
import { defineTool } from '../tool.ts';

const WARNINGS = Object.entries(RESPONSE_WARNINGS)
  .map(([code, text]) => `- \`${code}\`: ${text}`)
  .join('\n');

/** Media type at the start of a Content-Type header. */
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}/;
const UNKNOWN_TYPE = 'application/octet-stream';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

/** Header fields by lower-case name. */
const headerFields = {
  type: 'object',
  additionalProperties: { type: ['string', 'array'], items: { type: 'string' } },
} as const;

export default defineTool({
  name: 'http-request',
  title: 'HTTP request',
  description:
    'Sends one HTTP/1.1 request and returns the complete response, including headers that browsers hide. Every ' +
    'status of the target is a result. Redirects are not followed: the result is the 3xx response with its `location`. ' +
    'Content and transfer codings (gzip, deflate, br, zstd) are decoded while the headers stay as sent; with an ' +
    'coding that is not supported, and for a part (206) of an encoded body, the body is returned undecoded in base64. Words in ' +
    '`Content-Encoding` that name no coding, such as `none` or `UTF-8`, are ignored, as browsers do. The decoded body may have at ' +
    'most 5 MB. A larger body, or one above 1 MB that ' +
    'grows more than a hundredfold, is `source_too_large`; bodies are never truncated silently. The headers may have at most ' +
    '64 KiB and 500 lines. Non-public ' +
    'addresses, internal names and ports that browsers block are `target_refused`. A failed connection, an invalid ' +
    'certificate, or a response that cannot be read or ends early is `target_failed`; `detail` has the reason. A response that ' +
    'arrives before the request is sent completely, such as 413, is returned even if the target then closes the connection; if that ' +
    'cuts off the body of an error (status 400 or above), what arrived of it is returned with the warning `connection_reset`. Rules ' +
    'of HTTP that a readable response violates are listed in `warnings`. No complete response within 30 ' +
    's is `target_timeout`. POST, PUT, PATCH and DELETE requests are sent at most once and are not cancelled when ' +
    'the caller disconnects.',
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
          'values sends the header once for each value. At most 100 headers and 32 KB. Non-ASCII characters are sent ' +
          'as UTF-8. `Connection`, `Content-Length`, `Keep-Alive`, `Proxy-*`, `TE`, `Trailer`, `Transfer-Encoding` ' +
          'and `Upgrade` cannot be set, and `Host` only to the host of the URL. `User-Agent`, `Accept` and ' +
          '`Accept-Encoding` are added unless given; `Content-Type` is not added. With `Range`, the added `Accept-Encoding` is ' +
          '`identity`, so that the part is readable.',
        oneOf: [
          {
            type: 'object',
            maxProperties: 100,
            additionalProperties: { type: ['string', 'array'], items: { type: 'string' }, minItems: 1 },
          },
          { type: 'string', maxLength: 65_536 },
        ],
      },
      body: {
        type: 'string',
        maxLength: 1_000_000,
        description:
          'Request body, sent unchanged in UTF-8. Not allowed with GET and HEAD. A body of 64 KiB or more is sent 20 ms after the headers, unless the target refuses the request before.',
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
        description: 'HTTP status code returned by the target.',
      },
      headers: {
        ...headerFields,
        description:
          'All response headers, with names in lower case. A repeated header, such as `set-cookie`, is an array of ' +
          'its values in order.',
      },
      body: {
        type: 'string',
        description:
          'Response body as text, or base64 if it is not text; empty if there is no body. Text is decoded by its byte order mark, else by the charset of its `Content-Type`, else by ' +
          'the `<meta>` element of HTML or the XML declaration, else as UTF-8 if valid, else as windows-1252.',
      },
      bodyEncoding: {
        type: 'string',
        enum: ['text', 'base64'],
        description:
          'Encoding of `body`: `text`, or `base64` for images, audio, video, fonts and other content that is ' +
          'not text.',
      },
      trailers: {
        ...headerFields,
        description:
          'Headers that followed a chunked body, in the same form as `headers`; empty if there are none.',
      },
      interimResponses: {
        type: 'array',
        description:
          'Interim responses (1xx, such as 103 Early Hints) before the response, in order; empty if there are none. At most 10.',
        items: {
          type: 'object',
          properties: {
            statusCode: {
              type: 'integer',
              minimum: 100,
              maximum: 199,
              description: 'HTTP status code of the interim response.',
            },
            headers: { ...headerFields, description: 'Its headers, in the same form as `headers`.' },
          },
          required: ['statusCode', 'headers'],
          additionalProperties: false,
        },
      },
      warnings: {
        type: 'array',
        items: { type: 'string', enum: RESPONSE_WARNING_CODES },
        description: `Violations of HTTP/1.1 (RFC 9112) in the response, each code once; empty if there are none.\n\n${WARNINGS}`,
      },
      elapsedMs: {
        type: 'integer',
        minimum: 0,
        description:
          'Total time in milliseconds, from the DNS lookup to the last byte of the response, including TLS.',
      },
    },
    required: [
      'statusCode',
      'headers',
      'body',
      'bodyEncoding',
      'trailers',
      'interimResponses',
      'warnings',
      'elapsedMs',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { url: 'https://example.com/', headers: { Accept: 'text/html' } },
      output: {
        statusCode: 200,
        headers: { 'content-type': 'text/html', 'content-length': `${EXAMPLE_PAGE.length}` },
        body: EXAMPLE_PAGE,
        bodyEncoding: 'text',
        trailers: {},
        interimResponses: [],
        warnings: [],
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
  optionalFile: {
    data: 'body',
    mimeTypeOf({ body, bodyEncoding, headers }) {
      if (bodyEncoding === 'text' || body === '') return null;
      const type = [headers['content-type'] ?? []].flat().at(-1) ?? '';
      return MEDIA_TYPE.exec(type.trim().toLowerCase())?.[0] ?? UNKNOWN_TYPE;
    },
  },
  actsOnWorld: ({ method }) => method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS',
});
