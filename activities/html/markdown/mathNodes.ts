/** A formula in a line. */
export interface InlineMath {
  type: 'inlineMath';
  /** TeX without `$`. */
  value: string;
}

/** A formula on lines of its own. */
export interface DisplayMath {
  type: 'math';
  value: string;
}

declare module 'mdast' {
  interface PhrasingContentMap {
    inlineMath: InlineMath;
  }
  interface BlockContentMap {
    math: DisplayMath;
  }
  interface RootContentMap {
    inlineMath: InlineMath;
    math: DisplayMath;
  }
}
