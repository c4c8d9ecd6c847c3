import { join } from 'node:path';
import { readEnv } from '../schemas/env.ts';
import { packClients } from './clients/pack.ts';

/** Run by `npm run clients`: packs the clients into the folder from which the API serves them. */
const folder = join(readEnv().DATA_DIR, 'clients');
await packClients(folder, { python: 'python3', isIsolated: true });
console.log(`The packed clients are in ${folder}. The API serves them at /clients/.`);
