export const OPERATOR_PATH = '/dashboard/operator';

export const accountPath = (id: string): string => `${OPERATOR_PATH}/accounts/${encodeURIComponent(id)}`;

export const operatorReceiptPath = (paymentId: string): string =>
  `${OPERATOR_PATH}/payments/${encodeURIComponent(paymentId)}`;

export const operatorCallPath = (id: string): string => `${OPERATOR_PATH}/calls/${encodeURIComponent(id)}`;
