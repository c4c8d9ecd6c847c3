import { execFileSync } from 'node:child_process';
import { importedFiles } from '../../test/provision/imports.ts';
import { machineEnv } from '../host.mjs';
import type { Timings } from './timings.ts';

/*
 * Chooses the slow test files that a change needs. A test file is about the names in its path: those of its folders, and the
 * parts of its own name. `test/dashboard/passkeys.browser.test.ts` is about `dashboard`, `passkeys` and `browser`. A change in
 * a folder or file with one of these names selects it.
 */

/** Names that say nothing about a subject. */
const GENERAL = new Set([
  'test',
  'tools',
  'index',
  'main',
  'docs',
  'scripts',
  'style',
  'stack',
  'helpers',
  'types',
]);
/** Matches the paths on which all calls depend: money, workflows, connections to targets, schemas, dependencies. */
const SHARED_GROUND = /(?:^|\/)[Ll]edger|^(?:workflows|egress|schemas)\/|^package-lock\.json$/;
/** Matches the slow test files that a change on shared ground selects: kills, attribution of credits, secrets, forbidden targets. */
const SHARED_SUITES = /\/(?:kill|attribution|secrets)(?:\.\w+)*\.test\.ts$|\/egress\//;
/** Matches the paths that decide how containers are built, and how processes start in them. */
const CONTAINERS =
  /^(?:Dockerfile|\.dockerignore|docker-compose\.yml|docker\/|deploy\/|test\/containers\/|api\/server\.ts|workers\/(?:[\w-]+\/)?main\.ts|(?:api|platform|workers)\/core\.ts|platform\/(?:retryStart|runMain)\.ts)/;
/** Documents that no slow test file reads. */
const TEXT = /\.md$|^LICENSE|^findings\//;

const SECOND = 1;
const MINUTE = 60 * SECOND;
/** Seconds that the chosen files may take, as they run beside each other; longer after a change on shared ground. */
const BUDGET = { usual: 7 * MINUTE, shared: 11 * MINUTE };
/** Seconds that a file takes whose time is not known. */
const UNKNOWN = MINUTE;
/** Number of files that run at the same time, on average. */
const CONCURRENCY = 2;

interface Selection {
  /** The files to run. */
  files: string[];
  /** The files that the change touches but that the time does not suffice for. */
  leftOut: string[];
  /** The additional file, which the hash of the commit selects. */
  byHash: string | null;
  hasSharedGround: boolean;
  /** Whether the change needs the container tests. */
  needsContainers: boolean;
}

const git = (...args: string[]): string =>
  execFileSync('git', args, {
    encoding: 'utf8',
    env: machineEnv(),
    timeout: 60_000,
    maxBuffer: 64 * 1024 ** 2,
  });

/** Returns the hash of the commit that is checked out; null outside a Git checkout. */
export function currentCommit(): string | null {
  try {
    return git('rev-parse', 'HEAD').trim();
  } catch {
    return null;
  }
}

/** Whether the checkout contains no changes that are not committed. */
export const isClean = (): boolean => git('status', '--porcelain') === '';

/**
 * Returns the paths that differ between a commit and the files of the checkout, committed or not; null if the commit is not
 * known here, as in a clone without its history.
 */
export function changedSince(commit: string): string[] | null {
  try {
    const tracked = git('diff', '--name-only', '--no-renames', commit).split('\n');
    const others = git('ls-files', '--others', '--exclude-standard').split('\n');
    return [...tracked, ...others].filter((path) => path !== '' && path !== 'test/passed.json');
  } catch {
    return null;
  }
}

const namesIn = (path: string): Set<string> =>
  new Set(
    path.split(/[/.]/).filter((name) => name !== '' && !GENERAL.has(name) && !/^[mc]?[tj]s$/.test(name)),
  );

/** Returns the files in which a tool is implemented, outside the modules that all tools share. */
const partsOf = (tool: string): string[] =>
  [...importedFiles([`activities/tools/${tool}.ts`])].filter((path) => path.startsWith('activities/'));

/** Returns the paths that a test file is about or consists of, beside what its names tell. */
function pathsOf(file: string): Set<string> {
  const [, tool] = /^test\/tools\/([\w-]+)\./.exec(file) ?? [];
  const parts = tool === undefined ? [] : [...partsOf(tool), `schemas/tools/${tool}.ts`];
  return new Set([...parts, ...[...importedFiles([file])].filter((path) => path.startsWith('test/'))]);
}

const shares = (first: ReadonlySet<string>, second: ReadonlySet<string>): boolean =>
  [...first].some((name) => second.has(name));

interface Touched {
  /** The files that the change touches. */
  touched: string[];
  /** The files that a change on shared ground selects; empty after other changes. */
  mandatory: string[];
  hasSharedGround: boolean;
}

/** Finds the slow test files that a change touches. @param changed the changed paths; null touches everything */
export function touchedBy(slow: readonly string[], changed: readonly string[] | null): Touched {
  const paths = changed?.filter((path) => !TEXT.test(path)) ?? null;
  const names = paths?.filter((path) => !path.startsWith('test/')).map(namesIn) ?? [];
  const hasSharedGround = paths === null || paths.some((path) => SHARED_GROUND.test(path));
  const isTouched = (file: string): boolean => {
    if (paths === null) return true;
    const own = pathsOf(file);
    const ownNames = namesIn(file);
    return paths.some((path) => own.has(path)) || names.some((of) => shares(of, ownNames));
  };
  return {
    touched: slow.filter(isTouched),
    mandatory: hasSharedGround ? slow.filter((file) => SHARED_SUITES.test(file)) : [],
    hasSharedGround,
  };
}

/**
 * Chooses the slow test files for a change.
 *
 * @param slow all slow test files
 * @param changed the changed paths; null if they are not known, which touches everything
 * @param commit hash of the commit that is tested, which chooses one more file
 */
export function select(
  slow: readonly string[],
  changed: readonly string[] | null,
  commit: string | null,
  timings: Timings,
): Selection {
  const { touched, mandatory, hasSharedGround } = touchedBy(slow, changed);
  const byHash =
    commit === null ? null : (slow[Number.parseInt(commit.slice(0, 8), 16) % slow.length] ?? null);
  const wanted = [...new Set([...mandatory, ...(byHash === null ? [] : [byHash]), ...touched])];

  let left = CONCURRENCY * (hasSharedGround ? BUDGET.shared : BUDGET.usual);
  const files = wanted.filter((file) => {
    const seconds = timings[file] ?? UNKNOWN;
    const runs = mandatory.includes(file) || file === byHash || seconds <= left;
    if (runs) left -= seconds;
    return runs;
  });
  const leftOut = wanted.filter((file) => !files.includes(file));
  const needsContainers =
    changed === null || changed.some((path) => !TEXT.test(path) && CONTAINERS.test(path));
  return { files, leftOut, byHash, hasSharedGround, needsContainers };
}
