/** Bytes of the header section of one message. Node's own limit is 16 KiB, Chromium's 256 KiB. */
export const HEADER_BYTES = 64 * 1024;
/** Fields in the header section of one message. */
export const HEADER_COUNT = 500;
/** Interim responses (100, 102, 103) before the final one; RFC 9110 section 15.2 has no limit. */
export const INTERIM_RESPONSES = 10;
/** Redirects followed; the Fetch Standard follows 20, curl 30. */
export const REDIRECTS = 10;
/** Content codings one on top of another; each keeps up to 16 MB of window. */
export const CODINGS = 3;
/** Largest ratio of decoded to received bytes. */
export const RATIO = 100;
/** Decoded bytes that are always allowed: a short, repetitive page exceeds the ratio without being a bomb. */
export const RATIO_FLOOR = 1_000_000;
/** Base-2 logarithm of zstd's window, as RFC 9659 allows it on the web. */
export const ZSTD_WINDOW_LOG = 23;
