import type { Account, GrantOperator } from '../../../../store/accounts/accountDocs.ts';
import type { Page, PageRequest } from '../../../../store/mongo/pages.ts';
import { callRow, entryRow, keyRow } from '../../../account/rows.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import type { Html } from '../../frame/html.ts';
import { purchaseTable } from '../../pages/credits/purchaseTable.ts';
import { securityTable } from '../../pages/settings/securityLog/view.ts';
import { operatorInvoicePath, operatorReceiptPath } from '../paths.ts';
import {
  callTable,
  entryTable,
  grantTable,
  keyTable,
  noticeTable,
  type OperatorEmails,
  webhookTable,
} from './tables.ts';

const DOCUMENTS = { receiptPath: operatorReceiptPath, invoicePath: operatorInvoicePath };

/** A page of a list of an account. */
interface ShownPage {
  /** Null if the page has no rows. */
  rows: Html | null;
  nextCursor: string | null;
}

/** A list of an account, newest first. */
export interface AccountList {
  /** The last part of its path, and the id of its section. */
  name: string;
  title: string;
  show(account: Account, page: PageRequest): Promise<ShownPage>;
}

/** Creates the lists that operators see of an account, in their order on its page. */
export function createAccountLists({ core, payments, webhooks }: Dashboard): readonly AccountList[] {
  const { lists, accounts } = core;

  const list = <Row>(
    name: string,
    title: string,
    load: (account: Account, page: PageRequest) => Promise<Page<Row>>,
    table: (rows: readonly Row[], account: Account) => Html | Promise<Html>,
  ): AccountList => ({
    name,
    title,
    async show(account, page) {
      const { items, nextCursor } = await load(account, page);
      return { rows: items.length === 0 ? null : await table(items, account), nextCursor };
    },
  });

  /** Reads the addresses of the operators who made the adjustments of a page. */
  function emailsOf(rows: readonly { operator?: GrantOperator | undefined }[]): Promise<OperatorEmails> {
    const ids = rows.flatMap(({ operator }) => (typeof operator === 'object' ? operator.accountId : []));
    return accounts.emailsOf([...new Set(ids)]);
  }

  return [
    list(
      'keys',
      'Keys',
      ({ _id }, page) => lists.keys(_id, page),
      (rows, account) => keyTable(rows.map((row) => keyRow(row, account))),
    ),
    list(
      'calls',
      'Calls',
      ({ _id }, page) => lists.calls(_id, {}, page),
      (rows) => callTable(rows.map(callRow)),
    ),
    list(
      'ledger',
      'Ledger',
      ({ _id }, page) => lists.entries(_id, page),
      async (rows) => {
        const entries = rows.map((row) => ({ ...entryRow(row), operator: row.operator }));
        return entryTable(entries, await emailsOf(rows));
      },
    ),
    list(
      'grants',
      'Grants and adjustments',
      ({ _id }, page) => lists.grants(_id, page),
      async (rows) => grantTable(rows, await emailsOf(rows)),
    ),
    list(
      'payments',
      'Payments',
      ({ _id }, page) => payments.list(_id, page),
      (rows) => purchaseTable(rows, 'Payments, newest first', DOCUMENTS, { isNamed: true }),
    ),
    list('webhooks', 'Webhooks', ({ _id }, page) => webhooks.list(_id, page), webhookTable),
    list(
      'security',
      'Security log',
      ({ _id }, page) => lists.securityEvents(_id, page),
      (rows) => securityTable(rows, { isNamed: true }),
    ),
    list('notices', 'Emails to the owner', ({ _id }, page) => lists.notices(_id, page), noticeTable),
  ];
}
