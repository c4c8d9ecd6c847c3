/** Maximum size in bytes of the header section of one HTTP message. Node's limit is 16 KiB, Chromium's 256 KiB. */
export const HEADER_BYTES = 64 * 1024;
/** Maximum number of headers of one HTTP message. */
export const HEADER_COUNT = 500;
/** Maximum number of interim responses (100, 102, 103) before the final one; RFC 9110 section 15.2 sets no limit. */
export const INTERIM_RESPONSES = 10;
/** Maximum number of redirects to follow; the Fetch Standard allows 20, curl 30. */
export const REDIRECTS = 10;
/** Maximum number of content codings of one body; each decoder keeps a window of up to 16 MB in memory. */
export const CODINGS = 3;
/** Maximum ratio of decoded to received bytes of a body, which stops decompression bombs. */
export const RATIO = 100;
/** Decoded bytes that are allowed at any ratio: a short, repetitive page exceeds `RATIO` without being a bomb. */
export const RATIO_FLOOR = 1_000_000;
/** Base-2 logarithm of the largest zstd window in bytes (8 MiB), the limit of RFC 9659 for content on the web. */
export const ZSTD_WINDOW_LOG = 23;
