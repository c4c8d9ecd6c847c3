/** The codes of gRPC that the Temporal server answers with. */
export const STATUS = {
  CANCELLED: 1,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  UNIMPLEMENTED: 12,
  UNAVAILABLE: 14,
} as const;

/** An error of gRPC, as the client receives it. */
export class GrpcError extends Error {
  readonly code: number;
  readonly details: string;
  readonly metadata = { get: () => [] };

  constructor(code: number, details: string) {
    super(`${code}: ${details}`);
    this.code = code;
    this.details = details;
  }
}
