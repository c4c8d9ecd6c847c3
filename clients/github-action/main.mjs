import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// A step of GitHub Actions. The runner passes inputs as variables INPUT_<NAME>, reads lines that start with :: as commands, and
// reads outputs and the summary from files whose paths are in GITHUB_OUTPUT and GITHUB_STEP_SUMMARY.

const ATTEMPTS = 5;
/** The service answers within 105 s. */
const TIMEOUT_MS = 110_000;
const MAX_PAUSE_S = 60;

/** What each check sends, and the faults that it finds in the output of the tool. */
const CHECKS = {
  'broken-links': {
    input: (target) => ({ url: target }),
    faults: ({ links }) =>
      links
        .filter(({ broken }) => broken)
        .map(({ url, text, explanation }) => `${url}${text === '' ? '' : ` (${text})`}: ${explanation}`),
    passed: ({ checked, totalFound }) => `${checked} of ${totalFound} links checked, none is broken.`,
  },
  'ssl-check': {
    input: (target) => ({ host: target }),
    faults: ({ chainValid, chainError, hostnameMatches, daysRemaining, validTo }) => [
      ...(chainValid ? [] : [`The certificate is not trusted: ${chainError}`]),
      ...(hostnameMatches ? [] : ['The certificate is for another host.']),
      ...(daysRemaining >= minDays()
        ? []
        : [`The certificate ends in ${daysRemaining} days, on ${validTo}.`]),
    ],
    passed: ({ daysRemaining }) => `The certificate is trusted and valid for ${daysRemaining} more days.`,
  },
};

function inputOf(name) {
  const value = (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
  if (value === '') throw new Error(`The input ${name} is missing.`);
  return value;
}

function minDays() {
  const days = Number(inputOf('min-days'));
  if (!Number.isInteger(days)) throw new Error('The input min-days is not an integer.');
  return days;
}

/** Sends a request until the service answers with something that another attempt cannot change. */
async function call(tool, input) {
  const url = new URL(`/api/v1/tools/${tool}`, inputOf('api-url'));
  const headers = {
    Authorization: `Bearer ${inputOf('api-key')}`,
    'Content-Type': 'application/json',
    // Attempts with the same key are one call, which is charged once.
    'Idempotency-Key': randomUUID(),
  };
  for (let attempt = 1; ; attempt++) {
    const [pause, result] = await attemptOnce(url, headers, input);
    if (pause === null) return result;
    if (attempt === ATTEMPTS) throw result;
    await sleep(Math.min(pause, MAX_PAUSE_S) * 1000);
  }
}

/** Returns the seconds until the next attempt and its reason, or null and the output. */
async function attemptOnce(url, headers, input) {
  let response;
  let body;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(input), signal });
    body = await response.json();
  } catch (error) {
    return [1, new Error(`${url.origin} does not answer: ${error.cause?.message ?? error.message}`)];
  }
  if (response.ok) return [null, body];
  const refused = new Error(`${body.title ?? response.status}${body.detail ? `: ${body.detail}` : ''}`);
  if (response.status !== 429 && response.status !== 503) throw refused;
  return [Number(response.headers.get('Retry-After') ?? 1), refused];
}

/** Escapes a message of a command of the runner. */
const escaped = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const append = (variable, text) => {
  const file = process.env[variable];
  if (file) appendFileSync(file, `${text}\n`);
};

/** Writes an output; the delimiter must not be a line of the value. */
function setOutput(name, value) {
  const delimiter = randomUUID();
  append('GITHUB_OUTPUT', `${name}<<${delimiter}\n${value}\n${delimiter}`);
}

try {
  const [name, target] = [inputOf('check'), inputOf('target')];
  if (!Object.hasOwn(CHECKS, name)) throw new Error(`The input check is none of ${Object.keys(CHECKS)}.`);
  const check = CHECKS[name];
  const output = await call(name, check.input(target));
  const faults = check.faults(output);
  setOutput('faults', String(faults.length));
  setOutput('result', JSON.stringify(output));
  for (const fault of faults)
    console.log(
      `::error title=${name} ${escaped(target).replaceAll(':', '%3A').replaceAll(',', '%2C')}::${escaped(fault)}`,
    );
  const lines = faults.length === 0 ? [check.passed(output)] : faults.map((fault) => `- ${fault}`);
  append('GITHUB_STEP_SUMMARY', `### ${name}: ${target}\n\n${lines.join('\n')}`);
  if (faults.length === 0) console.log(lines[0]);
  else process.exitCode = 1;
} catch (error) {
  console.log(`::error::${escaped(error.message)}`);
  process.exitCode = 1;
}
