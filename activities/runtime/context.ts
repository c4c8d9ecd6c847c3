import type { Guard } from '../../egress/guard.ts';
import type { Resolver } from '../../egress/resolver.ts';
import type { Offload } from '../decoders/offload.ts';
import type { Quotes } from '../gold/quotes.ts';

/** Second argument of every tool: `run(input, context)`. */
export interface ToolContext {
  callId: string;
  /** Aborts when the attempt is cancelled or times out. Pass it to every asynchronous operation. */
  signal: AbortSignal;
  /** Time by which the attempt must return, in epoch milliseconds. It covers all work of the tool. */
  deadline: number;
}

export interface UploadedFile {
  sizeBytes: number;
  /** The name that the caller gave it; null if it has none. */
  name: string | null;
  /** Yields its bytes. @throws ResultGone if it has been deleted */
  read(): AsyncIterable<Buffer>;
}

/** Context of tools that run on the worker's main thread. */
export interface NetworkContext extends ToolContext {
  /** Runs jobs on untrusted bytes, and CPU-heavy jobs, in child processes with a memory limit. */
  offload: Offload;
  /** Looks up DNS records. Connections go through `egress`, which resolves names itself. */
  resolver: Resolver;
  /** Connects to targets that callers name. */
  egress: Guard;
  /** The uploaded file that `fileUrl` names instead of a URL; missing if it names none. */
  file?: UploadedFile | undefined;
  /** Metal prices and exchange rates from the operator's feeds. */
  quotes: Quotes;
}
