import { AccountMethods } from './generated/account.ts';
import type { AccountRequest, ClientOptions, RequestOptions } from './options.ts';
import { openReceipt, type Receipt, type ReceiptKey } from './receipts.ts';
import { listRows, requestOf, rowOf } from './rest.ts';
import { createTransport, type Transport } from './transport.ts';

/** Client of the Account API. Its key has the scope `account`. The methods throw the same errors as those of the tools. */
export class UtilityToolsAccount extends AccountMethods {
  readonly #send: Transport;

  /** @throws TypeError if the key is missing or the URL is not valid */
  constructor(options: ClientOptions = {}) {
    super();
    this.#send = createTransport(options, 'UTILITY_TOOLS_ACCOUNT_KEY');
  }

  /** Returns the whole statement as CSV (RFC 4180) with a header line. */
  async statement(options?: RequestOptions): Promise<string> {
    const request = requestOf({ method: 'GET', path: '/api/v1/account/ledger' });
    return (await this.#send({ ...request, accept: 'text/csv' }, options)).body;
  }

  /**
   * Verifies the signature of a receipt with the keys that the service publishes, and returns what it says.
   *
   * @param receipt the field `receipt` of the result of `getReceipt`
   * @throws UtilityToolsError if the receipt is not genuine
   */
  async verifyReceipt(receipt: string, options?: RequestOptions): Promise<Receipt> {
    const request = { method: 'GET', path: '/.well-known/jwks.json' };
    const { keys } = await this.read<{ keys: ReceiptKey[] }>(request, options);
    return openReceipt(receipt, keys);
  }

  protected override async send(request: AccountRequest, options?: RequestOptions): Promise<void> {
    await this.#send(requestOf(request), options);
  }

  protected override async read<T>(request: AccountRequest, options?: RequestOptions): Promise<T> {
    return rowOf<T>(await this.#send(requestOf(request), options));
  }

  protected override list<T>(
    request: AccountRequest,
    options?: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    return listRows<T>(this.#send, request, options);
  }
}
