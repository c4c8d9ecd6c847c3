#!/usr/bin/env node
import { run } from './run.ts';

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());

// The exit code is set instead of exiting, so that everything is written first.
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (data) => void process.stdout.write(data),
  progress: (line) => void process.stderr.write(`${line}\n`),
  signal: interrupted.signal,
});
