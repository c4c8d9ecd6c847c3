export const OPERATOR_PATH = '/dashboard/operator';

export const accountPath = (id: string): string => `${OPERATOR_PATH}/accounts/${encodeURIComponent(id)}`;

export const operatorReceiptPath = (paymentId: string): string =>
  `${OPERATOR_PATH}/payments/${encodeURIComponent(paymentId)}`;

export const operatorInvoicePath = (number: string): string =>
  `${OPERATOR_PATH}/invoices/${encodeURIComponent(number)}`;

export const operatorCallPath = (id: string): string => `${OPERATOR_PATH}/calls/${encodeURIComponent(id)}`;

export const OPEN_WORK_PATH = `${OPERATOR_PATH}/batches`;

/** The batches and jobs of an account that have not ended. */
export const openWorkOf = (accountId: string): string =>
  `${OPEN_WORK_PATH}?${new URLSearchParams({ account: accountId })}`;
