import { npmPackages } from '../packages.ts';

/**
 * The reference implementation of the HTTP authentication scheme `Payment`, with which tests pay as a client. The latest version of
 * viem, which it needs, requires a version of it that does not exist.
 */
export const mppx = npmPackages('the payment client', ['mppx@0.11.0', 'viem@2.55.0'], 60);
