import { enlargeMixed } from './enhance.ts';
import type { Factor, Network } from './networkTypes.ts';
import { openReference } from './reference.ts';
import { measureWeight } from './weight.ts';

/**
 * Opens UpscalerJS, for platforms without ONNX Runtime. Its network is mixed with Lanczos, by the same weight in the
 * whole image.
 */
export async function openFallback(factor: Factor): Promise<Network> {
  const network = await openReference(factor);
  return {
    async prepare(whole) {
      const weight = await measureWeight(whole(), factor, network);
      return (part) => enlargeMixed(part, factor, network, weight);
    },
  };
}
