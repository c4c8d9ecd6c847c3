declare module 'html-encoding-sniffer' {
  /** Types after the package's README; the package ships none. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options?: {
      /** Use the rules for XML instead of those for HTML. */
      xml?: boolean;
      transportLayerEncodingLabel?: string | undefined;
      /** Returned unchanged when no encoding is found. */
      defaultEncoding?: string;
      /** Ignored with `xml`. Default: 1024. */
      maxPrescanBytes?: number;
    },
  ): string;
}
