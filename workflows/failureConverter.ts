import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Moves messages and stack traces of failures into the payload that the codec encrypts. The type (error code) stays
 * readable.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
