/** The first page of the reference. */
export const REFERENCE_PATH = '/docs/reference';
