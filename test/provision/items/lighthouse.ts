import { npmPackages } from '../packages.ts';

export const lighthouse = npmPackages('lighthouse', ['lighthouse@12.2.3'], 30);
