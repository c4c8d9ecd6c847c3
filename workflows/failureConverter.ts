import { DefaultFailureConverter } from '@temporalio/common';

/** Puts messages and stack traces of failures where the codec encrypts them too; the type (the error code) stays readable. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
