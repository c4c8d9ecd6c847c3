/** Deviations from RFC 9112 in responses that can still be read, by code. */
export const RESPONSE_WARNINGS = {
  odd_status_line: 'the version is neither HTTP/1.0 nor HTTP/1.1, or the status line has extra spaces',
  bare_lf: 'a line ends with LF instead of CRLF',
  bare_cr: 'a header contains a CR that is not part of a line ending',
  nul_in_header: 'a header contains a NUL character',
  control_character: 'a header contains a control character other than CR, LF and NUL',
  folded_header: 'a header continues on the next line',
  space_before_colon: 'white space precedes the colon of a header; it was removed from the name',
  invalid_header_name: 'a header name is empty or contains characters that are not allowed in names',
  ignored_line: 'a line that is not a header was ignored',
  repeated_content_length: '`Content-Length` is repeated with the same value',
  length_and_transfer_encoding: '`Content-Length` was ignored because of `Transfer-Encoding`',
  repeated_chunked: '`Transfer-Encoding` names `chunked` more than once; it was decoded once',
  missing_close_notify:
    'the body has no length and its TLS connection ended without `close_notify`, so that it may be cut off',
  connection_reset:
    'the target reset the connection before it had read the request, so that the body may be cut off',
} as const;

export type ResponseWarning = keyof typeof RESPONSE_WARNINGS;

const isWarning = (key: string): key is ResponseWarning => Object.hasOwn(RESPONSE_WARNINGS, key);
export const RESPONSE_WARNING_CODES: readonly ResponseWarning[] =
  Object.keys(RESPONSE_WARNINGS).filter(isWarning);
