import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Node } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, type Type, type Symbol as TypeSymbol } from 'typescript/unstable/sync';

/**
 * Counts what a reader passes who follows a successful call of hash-text through the code. Run it with
 * `node dev/callPath.ts [--list] [folder of a checkout]`.
 *
 * The path consists of the functions that the type checker finds from START on. It follows each call in the body of a
 * function, and each function that the body passes as an argument. A call through an interface leads to every object literal
 * that implements the interface. Code that runs only after an error is not followed: `catch` clauses, `throw` statements and
 * arguments of `.catch(…)`.
 *
 * - files: files with a function of the path
 * - hops: functions on the shortest chains of calls to the lines of STEPS, each function once
 * - types: types of the project that the signatures of these functions name
 */

type Start = 'route' | 'workflow' | 'reservation' | 'activity' | 'thread' | 'tool';

/** Where the path starts, and where it continues in another process or thread: the file, and the text before the function. */
const START: Readonly<Record<Start, readonly [file: string, text: string]>> = {
  route: ['api/calls/toolRoutes.ts', "router.post('/api/v1/tools/:tool', "],
  workflow: ['workflows/callTool.ts', 'export async function callTool'],
  // An update of the account is nearer by way of the settlement.
  reservation: ['activities/ledger/ledgerActivities.ts', 'async reserve('],
  activity: ['activities/runtime/toolActivities.ts', 'activities[name] = '],
  thread: ['activities/runtime/thread.ts', 'export default async function runOnThread'],
  tool: ['activities/tools/hash-text.ts', 'export async function run'],
};

/** The steps of a call in their order, each with the function where the search for it starts and the line that performs it. */
const STEPS: readonly (readonly [step: string, from: Start, line: RegExp])[] = [
  ['start', 'route', /client\.workflow\.start</],
  ['reserve', 'reservation', /accounts\.findOneAndUpdate\(/],
  ['tool', 'activity', /pool\.run\(/],
  ['tool', 'thread', /await run\(/],
  ['tool', 'tool', /DIGESTS\[/],
  ['settle', 'workflow', /calls\.bulkWrite\(/],
  ['answer', 'route', /\.result\(\)/],
  ['answer', 'route', /ctx\.body = (?:json|ending\.output);/],
  ['answer', 'route', /'timing\.answeredAt'/],
];

const ROOMS = ['schemas', 'platform', 'store', 'egress', 'workflows', 'activities', 'api', 'workers'];

const { values: options, positionals } = parseArgs({
  options: { list: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const root = resolve(positionals[0] ?? join(import.meta.dirname, '..'));
const api = new API({ cwd: root });
const [project] = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects();
if (project === undefined) throw new Error(`no tsconfig.json in ${root}`);
const { program, checker } = project;

const pathOf = (node: Node): string => relative(root, node.getSourceFile().fileName);
const isOurs = (node: Node): boolean => ROOMS.some((room) => pathOf(node).startsWith(`${room}/`));
const idOf = (node: Node): string => `${pathOf(node)}:${node.pos}`;
const isFunction = (node: Node): boolean => is.isFunctionLikeDeclaration(node) && node.body !== undefined;

/** All nodes below a node, without those that are left out and what is below them. */
function nodesIn(node: Node, isLeftOut: (node: Node) => boolean = () => false): Node[] {
  const nodes: Node[] = [];
  node.forEachChild((child) => {
    if (!isLeftOut(child)) nodes.push(child, ...nodesIn(child, isLeftOut));
  });
  return nodes;
}

const declarationsOf = (symbol: TypeSymbol | undefined): Node[] =>
  (symbol?.declarations ?? []).flatMap((handle) => handle.resolve(project) ?? []);

function propertyOf(holder: Node, name: string): TypeSymbol | undefined {
  const type = checker.getTypeAtLocation(holder);
  return type && checker.getPropertyOfType(checker.getNonNullableType(type) ?? type, name);
}

/** The expressions that object literals give for a member of an interface, by the declaration of the member. */
const givenFor = Map.groupBy(findGiven(), ([member]) => member);

function* findGiven(): Generator<readonly [member: string, value: () => Node[]]> {
  for (const name of program.getSourceFileNames()) {
    const file = program.getSourceFile(name);
    if (file === undefined || !isOurs(file)) continue;
    for (const node of nodesIn(file)) {
      if (!is.isObjectLiteralExpression(node)) continue;
      const type = checker.getContextualType(node);
      if (type === undefined) continue;
      // That of a result of an async function is a union with the promise of it.
      const types = type.isUnionType() ? (type.getTypes() ?? []) : [type];
      for (const member of types.flatMap((it) => checker.getPropertiesOfType(it))) {
        const spread = node.properties.filter((it) => is.isSpreadAssignment(it));
        const own = node.properties.find(
          (it) => !is.isSpreadAssignment(it) && it.name?.getText() === member.name,
        );
        for (const declaration of declarationsOf(member).filter(isOurs))
          yield [
            idOf(declaration),
            () =>
              own === undefined
                ? spread.flatMap((it) => functionsOfSymbol(propertyOf(it.expression, member.name)))
                : functionsOfDeclaration(own),
          ];
      }
    }
  }
}

/** The functions of the project to which a declaration leads. */
const known = new Map<string, Node[]>();
function functionsOfDeclaration(node: Node): Node[] {
  const id = idOf(node);
  const before = known.get(id);
  if (before !== undefined) return before;
  known.set(id, []); // Ends circles.
  const found = findFunctions(node);
  known.set(id, found);
  return found;
}

function findFunctions(node: Node): Node[] {
  if (!isOurs(node)) return [];
  if (isFunction(node)) return [node];
  if (is.isVariableDeclaration(node) || is.isPropertyAssignment(node))
    return node.initializer === undefined ? [] : functionsOf(node.initializer);
  if (is.isShorthandPropertyAssignment(node))
    return functionsOfSymbol(checker.getShorthandAssignmentValueSymbol(node));
  if (is.isBindingElement(node))
    return functionsOfSymbol(propertyOf(node.parent, (node.propertyName ?? node.name)?.getText() ?? ''));
  if (is.isMethodSignatureDeclaration(node) || is.isPropertySignatureDeclaration(node))
    return (givenFor.get(idOf(node)) ?? []).flatMap(([, value]) => value());
  return [];
}

function functionsOfSymbol(symbol: TypeSymbol | undefined): Node[] {
  if (symbol === undefined) return [];
  const [first] = declarationsOf(symbol);
  const isAlias = first !== undefined && (is.isImportSpecifier(first) || is.isExportSpecifier(first));
  return declarationsOf(isAlias ? checker.getAliasedSymbol(symbol) : symbol).flatMap(functionsOfDeclaration);
}

/** The functions of the project that can be the value of an expression. */
function functionsOf(node: Node): Node[] {
  if (isFunction(node)) return [node];
  if (is.isParenthesizedExpression(node) || is.isAwaitExpression(node)) return functionsOf(node.expression);
  if (is.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(functionsOf);
  if (is.isCallExpression(node)) return functionsOf(node.expression).flatMap(returnedBy);
  if (is.isIdentifier(node) || is.isPropertyAccessExpression(node))
    return functionsOfSymbol(checker.getSymbolAtLocation(is.isIdentifier(node) ? node : node.name));
  return [];
}

function returnedBy(node: Node): Node[] {
  if (!is.isFunctionLikeDeclaration(node) || node.body === undefined) return [];
  if (!is.isBlock(node.body)) return functionsOf(node.body);
  return nodesIn(node.body, isFunction).flatMap((it) =>
    is.isReturnStatement(it) && it.expression !== undefined ? functionsOf(it.expression) : [],
  );
}

/** Whether a function has a name of its own, so that its body belongs to the path only if it is called. */
const isNamed = (node: Node): boolean =>
  isFunction(node) &&
  (is.isFunctionDeclaration(node) ||
    is.isMethodDeclaration(node) ||
    is.isVariableDeclaration(node.parent) ||
    is.isPropertyAssignment(node.parent));

const isAfterError = (node: Node): boolean =>
  is.isCatchClause(node) ||
  is.isThrowStatement(node) ||
  (isFunction(node) &&
    is.isCallExpression(node.parent) &&
    is.isPropertyAccessExpression(node.parent.expression) &&
    node.parent.expression.name.getText() === 'catch');

const calls = new Map<string, Node[]>();
/** The functions that a function calls or passes on. */
function calledBy(node: Node): Node[] {
  const id = idOf(node);
  const before = calls.get(id);
  if (before !== undefined) return before;
  const found = nodesIn(node, (it) => isNamed(it) || isAfterError(it))
    .filter((it) => is.isCallExpression(it))
    .flatMap((it) => [it.expression, ...it.arguments.filter((arg) => !isFunction(arg))])
    .flatMap(functionsOf);
  const all = [...new Map(found.map((it) => [idOf(it), it])).values()];
  calls.set(id, all);
  return all;
}

function functionAt([name, text]: readonly [string, string]): Node {
  const file = program.getSourceFile(join(root, name));
  const at = file?.text.indexOf(text) ?? -1;
  if (file === undefined || at < 0) throw new Error(`${name} does not contain ${text}`);
  for (const node of nodesIn(file)) if (isFunction(node) && node.getStart() >= at) return node;
  throw new Error(`${name} has no function after ${text}`);
}

interface Reached {
  node: Node;
  /** The function from which this one was reached first. */
  from: Reached | null;
}

/** Returns the functions of the path from a function, those that take fewer calls first. */
function follow(node: Node): Reached[] {
  const reached: Reached[] = [{ node, from: null }];
  const ids = new Set([idOf(node)]);
  for (const from of reached)
    for (const next of calledBy(from.node)) {
      if (ids.has(idOf(next))) continue;
      ids.add(idOf(next));
      reached.push({ node: next, from });
    }
  return reached;
}

/** The text of a function without the functions with a name in it. */
const ownText = (node: Node): string =>
  nodesIn(node)
    .filter(isNamed)
    .reduce((text, it) => text.replace(it.getText(), ''), node.getText());

function chainTo(line: RegExp, reached: readonly Reached[]): Node[] {
  const chain: Node[] = [];
  let link = reached.find(({ node }) => line.test(ownText(node))) ?? null;
  if (link === null) throw new Error(`the path does not lead to ${line}`);
  for (; link !== null; link = link.from) chain.unshift(link.node);
  return chain;
}

/** Returns the types of the project that a type names, as their declarations. */
function typesIn(type: Type | undefined): Node[] {
  if (type === undefined) return [];
  const declarations = declarationsOf(type.getAliasSymbol() ?? type.getSymbol());
  const own = declarations.find(
    (it) => is.isInterfaceDeclaration(it) || is.isTypeAliasDeclaration(it) || is.isClassDeclaration(it),
  );
  if (own !== undefined && isOurs(own)) return [own];
  return [
    ...type.getAliasTypeArguments(),
    ...(type.isTypeReference() ? checker.getTypeArguments(type) : []),
    ...(type.isUnionType() || type.isIntersectionType() ? (type.getTypes() ?? []) : []),
  ].flatMap(typesIn);
}

function typesOfSignature(node: Node): Node[] {
  const signature = checker.getSignatureFromDeclaration(node);
  if (signature === undefined) return [];
  const parameters = [...signature.parameters.keys()].map((index) =>
    checker.getParameterType(signature, index),
  );
  return [...parameters, checker.getReturnTypeOfSignature(signature)].flatMap(typesIn);
}

/** The file and the first line of a node, for the list. */
const titleOf = (node: Node): string => `${pathOf(node)}: ${node.getText().split('\n')[0]}`;
const report = (title: string, entries: Iterable<string>) => {
  const all = [...new Set(entries)].sort();
  console.log(`${title}: ${all.length}`);
  if (options.list) for (const entry of all) console.log(`  ${entry}`);
};

const paths = {
  route: follow(functionAt(START.route)),
  workflow: follow(functionAt(START.workflow)),
  reservation: follow(functionAt(START.reservation)),
  activity: follow(functionAt(START.activity)),
  thread: follow(functionAt(START.thread)),
  tool: follow(functionAt(START.tool)),
};
const chains = STEPS.map(([step, from, line]) => ({ step, chain: chainTo(line, paths[from]) }));
if (options.list)
  for (const { step, chain } of chains) console.log(`${step}\n  ${chain.map(titleOf).join('\n  ')}`);
const onChains = new Map(chains.flatMap(({ chain }) => chain.map((node) => [idOf(node), node])));
report(
  'files',
  Object.values(paths).flatMap((path) => path.map(({ node }) => pathOf(node))),
);
console.log(`hops: ${onChains.size}`);
report('types', [...onChains.values()].flatMap(typesOfSignature).map(titleOf));
api.close();
