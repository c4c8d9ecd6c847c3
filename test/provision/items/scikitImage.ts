import { unpackedWheels } from '../packages.ts';

/** Photographs and drawings, in `skimage/data`. */
export const scikitImage = unpackedWheels('scikit-image', ['scikit-image==0.26.0'], 10);
