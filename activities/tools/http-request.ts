import type { GuardedResponse } from '../../egress/response.ts';
import { invalidInput } from '../../schemas/errors.ts';
import { readRequestHeaders } from '../../schemas/formats/requestHeaders.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/http-request.ts';
import { type BodyText, readBodyText } from '../download/bodyText.ts';
import type { NetworkContext } from '../runtime/context.ts';

type Output = ToolOutput<typeof definition>;

/** Of the decoded body. */
const RESPONSE_BYTES = 5 * 1024 * 1024;
const WORK_MS = 30_000;
/** Left for the answer to be written before the attempt itself is out of time. */
const MARGIN_MS = 200;

/** One entry a name, in lower case; fields that came more than once are arrays, in their order. */
function groupHeaders(headers: GuardedResponse['headers']): Output['headers'] {
  const groups = Map.groupBy(headers, ([name]) => name.toLowerCase());
  const entries = [...groups].map(([name, fields]): [string, string | string[]] => {
    const values = fields.map(([, value]) => value);
    const [first = '', ...rest] = values;
    return [name, rest.length === 0 ? first : values];
  });
  // Own properties, also those named like something that every object has.
  return Object.fromEntries(entries);
}

async function readBody(response: GuardedResponse): Promise<BodyText> {
  const bytes = await response.bytes();
  if (!response.decoded) return { body: bytes.toString('base64'), bodyEncoding: 'base64' };
  // Of several, browsers go by the last.
  const types = response.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  return readBodyText(bytes, types.at(-1)?.[1] ?? null);
}

/** One request on a connection of its own, sent once; what the target answers, of whatever status, is the result. */
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
    // HTTP has bytes where Node has Latin-1: this way they are those of UTF-8, as curl sends them.
    headers: fields.map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    // A string would travel together with the headers, and encode them as well.
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
    elapsedMs: Math.round(performance.now() - startedAt),
  };
}
