import { pythonEnvironment } from '../packages.ts';

/** The dependency of the Python client. */
const HTTPX = 'httpx==0.28.1';

/** The package with which the guide verifies receipts. */
const CRYPTOGRAPHY = 'cryptography==46.0.7';

/**
 * A Python environment for the tests of the Python client: its dependency, that of the guide to receipts, the build front end and back end, the type
 * checker; and the wheels that a new environment with the client needs.
 */
export const clientPython = pythonEnvironment(
  'the Python client',
  [HTTPX, CRYPTOGRAPHY, 'build==1.3.0', 'hatchling==1.27.0', 'mypy==1.18.2'],
  45,
  [HTTPX],
);
