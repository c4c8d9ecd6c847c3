import { redactOutput } from '../smtp/redactOutput.ts';

/** Redacts a long transcript in a child process, because searching it would block the worker. */
export default redactOutput;
