import { AccountMethods } from './generated/account.ts';
import type { AccountRequest, ClientOptions, RequestOptions } from './options.ts';
import { createTransport, type Success, type Transport } from './transport.ts';

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

function pathWith(path: string, query: object, cursor?: string): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, cursor }))
    if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Client of the Account API. Its key has the scope `account`. The methods throw the same errors as those of the tools. */
export class UtilityToolsAccount extends AccountMethods {
  readonly #send: Transport;

  /** @throws TypeError if the key is missing or the URL is not valid */
  constructor(options: ClientOptions) {
    super();
    this.#send = createTransport(options);
  }

  /** Returns the whole statement as CSV (RFC 4180) with a header line. */
  async statement(options?: RequestOptions): Promise<string> {
    const { body } = await this.#request(
      { method: 'GET', path: '/api/v1/account/ledger' },
      options,
      'text/csv',
    );
    return body;
  }

  protected override async send(request: AccountRequest, options?: RequestOptions): Promise<void> {
    await this.#request(request, options);
  }

  protected override async read<T>(request: AccountRequest, options?: RequestOptions): Promise<T> {
    const { body } = await this.#request(request, options);
    // The service guarantees the schema of a success.
    const row: T = JSON.parse(body);
    return row;
  }

  protected override async *list<T>(
    { method, path, query = {} }: AccountRequest,
    options?: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: Page<T> = await this.read({ method, path: pathWith(path, query, cursor) }, options);
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  #request(
    { method, path, body }: AccountRequest,
    options?: RequestOptions,
    accept = 'application/json',
  ): Promise<Success> {
    return this.#send(
      {
        method,
        path,
        headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        accept,
        isTool: false,
        idempotencyKey: null,
        // A POST creates something each time.
        always: method !== 'POST',
        keyIsFreed: false,
      },
      options,
    );
  }
}
