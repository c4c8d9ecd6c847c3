/** Response headers of the gateway with the error code and the failure kind, which its client turns into the same error. */
export const CODE_HEADER = 'x-error-code';
export const KIND_HEADER = 'x-failure-kind';
