import type { GuardedResponse } from '../../egress/response.ts';
import { invalidInput } from '../../schemas/errors.ts';
import { readRequestHeaders } from '../../schemas/formats/requestHeaders.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/http-request.ts';
import { type BodyText, readBodyText } from '../download/bodyText.ts';
import type { NetworkContext } from '../runtime/context.ts';

type Output = ToolOutput<typeof definition>;

/** Maximum size of the decoded response body in bytes. */
const RESPONSE_BYTES = 5 * 1024 * 1024;
const WORK_MS = 30_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 200;

/** Groups header fields by lower-case name. Repeated fields become an array, in their order. */
function groupHeaders(headers: GuardedResponse['headers']): Output['headers'] {
  const groups = Map.groupBy(headers, ([name]) => name.toLowerCase());
  const entries = [...groups].map(([name, fields]): [string, string | string[]] => {
    const values = fields.map(([, value]) => value);
    const [first = '', ...rest] = values;
    return [name, rest.length === 0 ? first : values];
  });
  // Object.fromEntries creates own properties, even for names such as `__proto__`.
  return Object.fromEntries(entries);
}

async function readBody(response: GuardedResponse): Promise<BodyText> {
  const bytes = await response.bytes();
  if (!response.decoded) return { body: bytes.toString('base64'), bodyEncoding: 'base64' };
  // If there are several Content-Type headers, browsers use the last.
  const types = response.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  return readBodyText(bytes, types.at(-1)?.[1] ?? null);
}

/** Sends one request on a new connection, without retries. The tool returns the response whatever its status is. */
export async function run(
  { url, method, headers = {}, body = '' }: ToolInput<typeof definition>,
  { egress, signal, deadline }: Omit<NetworkContext, 'resolver'>,
): Promise<Output> {
  const { fields, faults } = readRequestHeaders(headers, URL.parse(url));
  if (faults.length > 0) throw invalidInput(faults);
  const target = egress.parseTarget(url, { kind: 'url', pointer: '/url' });
  const startedAt = performance.now();
  using response = await egress.request(target, {
    method,
    // `sendRequest` writes headers as Latin-1. Decoding the UTF-8 bytes as Latin-1 therefore sends UTF-8, as curl does.
    headers: fields.map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    body: body === '' ? null : Buffer.from(body),
    maxBytes: RESPONSE_BYTES,
    signal,
    deadline: Math.min(deadline - MARGIN_MS, Date.now() + WORK_MS),
  });
  const text = await readBody(response);
  return {
    statusCode: response.status,
    headers: groupHeaders(response.headers),
    ...text,
    trailers: groupHeaders(response.trailers),
    interimResponses: response.interim.map(({ status, headers: fields }) => ({
      statusCode: status,
      headers: groupHeaders(fields),
    })),
    warnings: [...response.warnings],
    elapsedMs: Math.round(performance.now() - startedAt),
  };
}
