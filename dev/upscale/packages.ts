import { fileURLToPath } from 'node:url';
import type { Factor } from '../../activities/upscale/networkTypes.ts';

/** Variant of UpscalerJS's ESRGAN network for each factor, chosen by the measurements in test/quality/upscale.md. */
export const MODEL = { 2: 'slim', 4: 'slim' } as const satisfies Record<Factor, string>;

/** Returns the path of the model.json of UpscalerJS's network for a factor, in its npm package. */
export function packagePath(factor: Factor): string {
  const entry = import.meta.resolve(`@upscalerjs/esrgan-${MODEL[factor]}`);
  const [folder = ''] = entry.split('/dist/');
  return fileURLToPath(new URL(`models/x${factor}/model.json`, `${folder}/`));
}
