import { goProgram } from '../goProgram.ts';

/** Proxy that injects faults into connections, https://github.com/Shopify/toxiproxy. */
export const toxiproxy = goProgram({
  name: 'toxiproxy-server',
  source: 'github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0',
  built: 'server',
  usually: 30,
});
