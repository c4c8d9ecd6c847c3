declare module 'html-encoding-sniffer' {
  /** Types written from the package's README, because the package contains no types. */
  export default function htmlEncodingSniffer(
    bytes: Uint8Array,
    options?: {
      /** Whether to use the rules for XML instead of the rules for HTML. */
      xml?: boolean;
      transportLayerEncodingLabel?: string | undefined;
      /** Returned unchanged when no encoding is found. */
      defaultEncoding?: string;
      /** Number of bytes to scan for a declared encoding. Ignored with `xml`. Default: 1024. */
      maxPrescanBytes?: number;
    },
  ): string;
}
