import { writeFile } from 'node:fs/promises';
import { modelPath } from '../../activities/upscale/network.ts';
import { FACTORS } from '../../activities/upscale/networkTypes.ts';
import { convertModel } from './convert.ts';
import { packagePath } from './packages.ts';

/** Converts the networks of UpscalerJS that image-upscale uses. Run it after an update of their package. */
for (const factor of FACTORS) await writeFile(modelPath(factor), convertModel(packagePath(factor)));
