/** Pixels of an image whose frames are stacked vertically; `height` is that of one frame. */
interface Frames {
  data: Uint8Array | Uint16Array;
  width: number;
  height: number;
  channels: number;
  frames: number;
}

/**
 * Where a pixel of the upright image is stored, by EXIF orientation (EXIF 2.32, 4.6.5): whether its column is stored as a row,
 * and whether columns and rows of the stored image count from the right and from the bottom.
 */
const STORED: Readonly<Record<number, readonly [swapped: boolean, fromRight: boolean, fromBottom: boolean]>> =
  {
    2: [false, true, false],
    3: [false, true, true],
    4: [false, false, true],
    5: [true, false, false],
    6: [true, false, true],
    7: [true, true, true],
    8: [true, true, false],
  };

/** Turns each frame of an animation upright, which libvips does not. */
export function orientFrames(image: Frames, orientation: number): Pick<Frames, 'data' | 'width' | 'height'> {
  const stored = STORED[orientation];
  if (stored === undefined) return image;
  const [swapped, fromRight, fromBottom] = stored;
  const { data, channels, frames } = image;
  const [width, height] = swapped ? [image.height, image.width] : [image.width, image.height];
  const turned = data instanceof Uint16Array ? new Uint16Array(data.length) : new Uint8Array(data.length);
  for (let frame = 0; frame < frames; frame++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const [across, down] = swapped ? [y, x] : [x, y];
        const column = fromRight ? image.width - 1 - across : across;
        const row = fromBottom ? image.height - 1 - down : down;
        const from = channels * ((frame * image.height + row) * image.width + column);
        const to = channels * ((frame * height + y) * width + x);
        for (let channel = 0; channel < channels; channel++) turned[to + channel] = data[from + channel] ?? 0;
      }
  return { data: turned, width, height };
}
