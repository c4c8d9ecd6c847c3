/** Horizontal and vertical sampling factors of a component (ITU-T T.81, A.1.1). */
type Sampling = readonly [across: number, down: number];

export const jpegSegment = (marker: number, data: Buffer): Buffer => {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
};

/** Sets bits one after another, and stuffs a zero after each byte 0xff (ITU-T T.81, F.1.2.3). */
function bitWriter() {
  const bytes: number[] = [];
  let [bits, count] = [0, 0];
  const put = (value: number, length: number): void => {
    for (let at = length - 1; at >= 0; at--) {
      bits = 2 * bits + ((value >> at) & 1);
      if (++count < 8) continue;
      bytes.push(bits);
      if (bits === 0xff) bytes.push(0);
      [bits, count] = [0, 0];
    }
  };
  return {
    put,
    finish(): Buffer {
      while (count > 0) put(1, 1);
      return Buffer.from(bytes);
    },
  };
}

interface JpegParts {
  /** Number of minimum coded units across and down. */
  units: readonly [across: number, down: number];
  /** Sampling factors of each component. */
  samplings: readonly Sampling[];
  /** Level of a block of 8 x 8 samples of a component, 0 to 255. */
  level(component: number, column: number, row: number): number;
  /** Bytes after the start of the image, and between the tables and the frame. */
  start?: Buffer;
  between?: Buffer;
  /** Bits per sample that the frame states, and its marker. */
  bits?: number;
  frame?: number;
}

/**
 * Encodes a JPEG of flat blocks, with any subsampling, which sharp cannot write. Its tables code the levels of blocks with four
 * bits for the size of a difference, and the end of a block with one bit.
 */
export function makeJpeg({ units, samplings, level, ...parts }: JpegParts): Buffer {
  const { start = Buffer.alloc(0), between = Buffer.alloc(0), bits = 8, frame = 0xc0 } = parts;
  const most = (axis: 0 | 1) => Math.max(...samplings.map((it) => it[axis]));
  const header = Buffer.alloc(6 + 3 * samplings.length);
  header[0] = bits;
  header.writeUInt16BE(8 * most(1) * units[1], 1);
  header.writeUInt16BE(8 * most(0) * units[0], 3);
  header[5] = samplings.length;
  for (const [index, [across, down]] of samplings.entries())
    header.set([index + 1, 16 * across + down, 0], 6 + 3 * index);
  const sizes = Array.from({ length: 12 }, (_, size) => size);
  const tables = Buffer.concat([
    jpegSegment(0xdb, Buffer.from([0, ...Array<number>(64).fill(1)])),
    jpegSegment(0xc4, Buffer.from([0x00, 0, 0, 0, 12, ...Array<number>(12).fill(0), ...sizes])),
    jpegSegment(0xc4, Buffer.from([0x10, 1, ...Array<number>(15).fill(0), 0])),
  ]);
  const scan = [samplings.length, ...samplings.flatMap((_, index) => [index + 1, 0]), 0, 63, 0];
  const writer = bitWriter();
  const before = samplings.map(() => 0);
  const putBlock = (component: number, value: number): void => {
    const difference = value - (before[component] ?? 0);
    before[component] = value;
    const size = Math.abs(difference).toString(2).length * Number(difference !== 0);
    writer.put(size, 4);
    writer.put(difference < 0 ? difference + 2 ** size - 1 : difference, size);
    writer.put(0, 1);
  };
  for (let row = 0; row < units[1]; row++)
    for (let column = 0; column < units[0]; column++)
      for (const [component, [across, down]] of samplings.entries())
        for (let y = 0; y < down; y++)
          for (let x = 0; x < across; x++)
            putBlock(component, 8 * (level(component, column * across + x, row * down + y) - 128));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    start,
    tables,
    between,
    jpegSegment(frame, header),
    jpegSegment(0xda, Buffer.from(scan)),
    writer.finish(),
    Buffer.from([0xff, 0xd9]),
  ]);
}
