import { type ComparedPictures, comparePictures } from '../images/comparePictures.ts';

/** Compares two pictures. @param deadline epoch milliseconds */
export default function comparePicturesJob({
  before,
  after,
  deadline,
}: {
  before: Uint8Array;
  after: Uint8Array;
  deadline: number;
}): Promise<ComparedPictures> {
  return comparePictures(before, after, deadline);
}
