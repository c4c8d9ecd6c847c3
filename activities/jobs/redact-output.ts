import { redactOutput } from '../smtp/redactOutput.ts';

/** For a transcript of which that takes a while. */
export default redactOutput;
