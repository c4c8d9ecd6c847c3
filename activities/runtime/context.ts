import type { Guard } from '../../egress/guard.ts';
import type { Resolver } from '../../egress/resolver.ts';
import type { Offload } from '../decoders/offload.ts';
import type { Quotes } from '../gold/quotes.ts';

/** What every tool gets beside its input: `run(input, context)`. */
export interface ToolContext {
  callId: string;
  /** Aborted when the attempt is cancelled or out of time; pass it to every await on the outside. */
  signal: AbortSignal;
  /** Epoch milliseconds by which this attempt must have answered. It covers everything the tool does. */
  deadline: number;
}

/** What every tool gets that does not run on a thread as a whole. */
export interface NetworkContext extends ToolContext {
  /** Parses hostile bytes and does heavy work, in a process that can be killed and has a memory limit. */
  offload: Offload;
  /** DNS as such; whatever is to be connected to goes through the guard. */
  resolver: Resolver;
  /** The way out to what a caller names. */
  egress: Guard;
  /** Prices of metals and exchange rates, from feeds that the operator chose. */
  quotes: Quotes;
}
