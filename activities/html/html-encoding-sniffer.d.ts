declare module 'html-encoding-sniffer' {
  /** What the package's README says; it ships no types. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options?: {
      /** Go by the rules for XML instead of those for HTML. */
      xml?: boolean;
      transportLayerEncodingLabel?: string | undefined;
      /** Answered when nothing is found, as it is. */
      defaultEncoding?: string;
      /** Only without `xml`. Default 1024. */
      maxPrescanBytes?: number;
    },
  ): string;
}
