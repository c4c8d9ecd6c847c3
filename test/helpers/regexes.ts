import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { setTimeout as nextTurn } from 'node:timers/promises';
import { type AnyNode, parse } from 'acorn';
import type { Diagnostics } from 'recheck';

// recheck's other backends are native programs or need Java; the backend in JavaScript is part of the package.
process.env.RECHECK_BACKEND = 'pure';
const { checkSync } = await import('recheck');

/**
 * Timeout in milliseconds of the check of one pattern, for a heavily loaded machine. Most checks take less than 100 ms.
 */
const CHECK_TIMEOUT_MS = 120_000;

/** Checks whether some input makes a regular expression take more than linear time. */
export async function checkRegex(source: string, flags: string): Promise<Diagnostics> {
  // The check blocks the event loop; between two checks the test run must process the messages about finished tests.
  await nextTurn();
  return checkSync(source, flags, { timeout: CHECK_TIMEOUT_MS });
}

interface FoundRegex {
  /** `<file>:<line>` */
  at: string;
  source: string;
  flags: string;
}

interface FoundRegexes {
  /**
   * Regular expression literals, `new RegExp` with literal arguments, and literal values of a JSON schema's `pattern`.
   */
  literal: FoundRegex[];
  /** `<file>` of each `RegExp` or `pattern` whose text is only known at run time. */
  computed: string[];
}

const root = new URL('../../', import.meta.url);
/** Matches source files; declarations have no code. */
const SOURCE = /(?<!\.d)\.(?:[cm]?[jt]s)$/;

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

function* nodesOf(node: AnyNode): Generator<AnyNode> {
  yield node;
  // Skips the keys of a destructuring pattern, because they are not properties of an object.
  const children =
    node.type === 'ObjectPattern'
      ? node.properties.map((it) => (it.type === 'Property' ? it.value : it))
      : Object.values(node).flat();
  for (const child of children) if (isNode(child)) yield* nodesOf(child);
}

/** Returns the text of a string literal or of a template literal without expressions, else null. */
function textOf(node: AnyNode | undefined): string | null {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? null;
  return null;
}

/**
 * Returns the pattern of a node that creates a regular expression: `computed` if it is only known at run time, null for
 * other nodes.
 */
function regexOf(node: AnyNode): { source: string; flags: string } | 'computed' | null {
  if (node.type === 'Literal' && node.regex) return { source: node.regex.pattern, flags: node.regex.flags };
  if (node.type === 'NewExpression' || node.type === 'CallExpression') {
    if (node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return null;
    const [source, flags] = node.arguments;
    const text = textOf(source);
    const given = flags === undefined ? '' : textOf(flags);
    return text === null || given === null ? 'computed' : { source: text, flags: given };
  }
  if (node.type === 'Property' && node.key.type === 'Identifier' && node.key.name === 'pattern') {
    // A regular expression literal is found when its own node is visited.
    if (node.value.type === 'Literal' && node.value.regex) return null;
    const source = textOf(node.value);
    return source === null ? 'computed' : { source, flags: 'u' };
  }
  return null;
}

/**
 * Finds the regular expressions in the project's source with a JavaScript parser.
 *
 * @param folders folders of the project, searched recursively
 * @throws SyntaxError for a file that cannot be parsed
 */
export function findRegexes(folders: readonly string[]): FoundRegexes {
  const found: FoundRegexes = { literal: [], computed: [] };
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => SOURCE.test(name))
      .map((name) => `${folder}/${name}`),
  );
  for (const file of files) {
    const text = readFileSync(new URL(file, root), 'utf8');
    // Stripping replaces types by spaces, so that line numbers stay the same.
    const code = file.endsWith('ts') ? stripTypeScriptTypes(text) : text;
    const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true });
    for (const node of nodesOf(program)) {
      const regex = regexOf(node);
      if (regex === 'computed') found.computed.push(file);
      else if (regex !== null) found.literal.push({ at: `${file}:${node.loc?.start.line}`, ...regex });
    }
  }
  return found;
}
