import { npmPackages } from '../packages.ts';

/** Postman's program that runs collections. */
export const newman = npmPackages('newman', ['newman@6.2.2'], 20);
