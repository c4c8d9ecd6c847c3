import { pythonEnvironment } from '../packages.ts';

/** A Python environment with checkdmarc, https://github.com/domainaware/checkdmarc. */
export const checkdmarc = pythonEnvironment('checkdmarc', ['checkdmarc==6.0.4'], 60);
