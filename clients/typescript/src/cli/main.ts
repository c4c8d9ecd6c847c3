#!/usr/bin/env node
import { run } from './run.ts';

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());

// Sets the exit code instead of calling exit(), so that all output is written first.
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (data) => void process.stdout.write(data),
  progress: (line) => void process.stderr.write(`${line}\n`),
  signal: interrupted.signal,
});
