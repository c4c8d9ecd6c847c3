import type { Guard } from '../egress/guard.ts';
import type { Resolver } from '../egress/resolver.ts';

/** What every tool gets beside its input: `run(input, context)`. */
export interface ToolContext {
  callId: string;
  /** Aborted when the attempt is cancelled or out of time; pass it to every await on the outside. */
  signal: AbortSignal;
  /** Epoch milliseconds by which this attempt must have answered. It covers everything the tool does. */
  deadline: number;
}

/** What a tool of the network pool gets beside that. */
export interface NetworkContext extends ToolContext {
  /** DNS as such; whatever is to be connected to goes through the guard. */
  resolver: Resolver;
  /** The way out to what a caller names. */
  egress: Guard;
}
