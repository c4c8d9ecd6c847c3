import type { Pack } from '../../../../schemas/formats/packs.ts';

export const CREDITS_PATH = '/dashboard/credits';
export const RECEIPTS_PATH = `${CREDITS_PATH}/receipts`;

export const receiptPath = (paymentId: string): string => `${RECEIPTS_PATH}/${encodeURIComponent(paymentId)}`;

export const BILLING_PATH = `${CREDITS_PATH}/billing`;
export const INVOICES_PATH = `${CREDITS_PATH}/invoices`;

export const invoicePath = (number: string): string => `${INVOICES_PATH}/${encodeURIComponent(number)}`;

/** How credits are sold; null when they are not. */
export type Selling = { by: 'stripe' | 'test'; packs: readonly Pack[] } | null;
