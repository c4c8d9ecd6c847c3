import { npmPackages } from '../packages.ts';

/** Linters of OpenAPI documents. */
export const linters = npmPackages(
  'openapi-linters',
  ['@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3'],
  60,
);
