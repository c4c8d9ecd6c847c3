import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { checkdmarc } from '../provision/items/checkdmarc.ts';

/** Runs mail_verdicts.py once. @param task its input @returns its output */
export async function askCheckdmarc(task: object, log: (line: string) => void): Promise<unknown> {
  const program = join(await checkdmarc.get(log), 'bin/python');
  const script = fileURLToPath(new URL('./mail_verdicts.py', import.meta.url));
  const child = spawn(program, [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 120_000,
  });
  child.stdin.end(JSON.stringify(task));
  return JSON.parse(await text(child.stdout));
}
