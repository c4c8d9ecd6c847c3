import { namedSchemas } from '../../api/openapi/generatorSchema.ts';
import { CODES } from '../../api/openapi/problems.ts';
import { remedyInWords } from '../../api/openapi/remedies.ts';
import { creditsOf } from '../../schemas/callErrors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { type ClientOperation, type ClientTool, type Definitions, NOTICE, typeName } from './definitions.ts';

const HEAD = `# ${NOTICE}\n`;
/** Names that Python reserves; a TypedDict with such a field needs the functional syntax. */
const RESERVED = new Set([
  'from',
  'class',
  'import',
  'is',
  'in',
  'not',
  'pass',
  'global',
  'with',
  'as',
  'None',
]);

/** Returns a value as a Python literal. `JSON.stringify` writes strings and numbers in a form that Python also reads. */
const literal = (value: unknown): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : value === null ? 'None' : JSON.stringify(value);
const docstring = (text: string): string =>
  `"""${text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, '" ')}"""`;
/** `hash-text`, `getAccount` -> `hash_text`, `get_account` */
const snake = (name: string): string =>
  name.replaceAll('-', '_').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const union = (types: readonly string[]): string => {
  const unique = [...new Set(types)];
  return unique.length === 1 ? `${unique[0]}` : `Union[${unique.join(', ')}]`;
};
const BASIC: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** Translates schemas. Each nested object becomes a class, which is declared before the class that uses it. */
function createWriter() {
  const classes: string[] = [];

  function objectType(schema: Record<string, unknown>, name: string): string {
    if (isRecord(schema.properties)) return declare(name, schema, '');
    const { additionalProperties: values } = schema;
    return `Dict[str, ${isRecord(values) ? typeOf(values, `${name}Value`) : 'Any'}]`;
  }

  function basicType(type: unknown, schema: Record<string, unknown>, name: string): string {
    if (type === 'array') return `List[${typeOf(schema.items, `${name}Item`)}]`;
    if (type === 'object') return objectType(schema, name);
    return (typeof type === 'string' ? BASIC[type] : undefined) ?? 'Any';
  }

  /** The Python type of a JSON Schema; `name` is the name of its class if it needs one. */
  function typeOf(schema: unknown, name: string): string {
    const shared = namedSchemas.get(schema);
    if (shared !== undefined) return `"${shared}"`;
    if (!isRecord(schema)) return 'Any';
    const { const: only, enum: values, oneOf, anyOf = oneOf, type } = schema;
    if (only !== undefined) return `Literal[${literal(only)}]`;
    if (Array.isArray(values)) return `Literal[${values.map(literal).join(', ')}]`;
    if (Array.isArray(anyOf))
      return union(
        anyOf.map((part, index) => {
          const title = isRecord(part) && typeof part.title === 'string' ? part.title : `${index + 1}`;
          return typeOf(part, `${name}${typeName(title)}`);
        }),
      );
    const types: unknown[] = Array.isArray(type) ? type : [type];
    return union(types.map((one) => basicType(one, schema, name)));
  }

  function declare(name: string, schema: Record<string, unknown>, about: string): string {
    const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
    const fields = Object.entries(isRecord(schema.properties) ? schema.properties : {}).map(
      ([field, property]) => ({
        field,
        isRequired: required.includes(field),
        type: typeOf(property, `${name}${typeName(field)}`),
        about: isRecord(property) ? String(property.description ?? '') : '',
      }),
    );
    const doc = about === '' ? '' : `    ${docstring(about)}\n\n`;
    const body = (list: typeof fields): string =>
      list
        .map(
          ({ field, type, about: text }) =>
            `    ${field}: ${type}\n${text === '' ? '' : `    ${docstring(text)}\n`}`,
        )
        .join('');
    if (fields.some(({ field }) => RESERVED.has(field))) {
      const entries = fields.map(({ field, type }) => `    ${literal(field)}: ${type},\n`).join('');
      const isTotal = fields.every(({ isRequired }) => isRequired);
      classes.push(
        `${name} = TypedDict(\n    "${name}",\n    {\n${entries.replaceAll(/^ {4}/gm, '        ')}    },\n${isTotal ? '' : '    total=False,\n'})\n`,
      );
      return `"${name}"`;
    }
    const [must, may] = [fields.filter((it) => it.isRequired), fields.filter((it) => !it.isRequired)];
    if (may.length === 0) classes.push(`class ${name}(TypedDict):\n${doc}${body(must) || '    pass\n'}`);
    else if (must.length === 0) classes.push(`class ${name}(TypedDict, total=False):\n${doc}${body(may)}`);
    else
      classes.push(
        `class _${name}Required(TypedDict):\n${body(must)}\n\nclass ${name}(_${name}Required, total=False):\n${doc}${body(may)}`,
      );
    return `"${name}"`;
  }

  return { classes, declare };
}

/** Returns the types of all inputs and outputs of tools, of the items of lists, and of webhook events. */
export function pythonTypesFile({ schemas, events }: Definitions): string {
  const { classes, declare } = createWriter();
  for (const { name, schema, about } of schemas) declare(name, schema, about);
  return `${HEAD}from typing import Any, Dict, List, Literal, TypedDict, Union

${['', ...classes].join('\n\n')}

WebhookEvent = Union[${events.join(', ')}]
"""An event as an endpoint receives it."""
`;
}

/** The codes of all errors, with advice for the caller. */
export function pythonErrorsFile(): string {
  const remedies = CODES.map((code) => `    ${literal(code)}: ${literal(remedyInWords(code))},\n`);
  return `${HEAD}from typing import Dict, Literal

ErrorCode = Literal[
${CODES.map((code) => `    ${literal(code)},\n`).join('')}]
"""Stable code of an error of the service."""

REMEDIES: Dict[str, str] = {
${remedies.join('')}}
"""Advice for each error of the service, by its code."""
`;
}

/** The texts that differ between the blocking and the asyncio client. */
interface Style {
  def: string;
  wait: string;
  iterator: string;
}
const SYNC: Style = { def: 'def', wait: '', iterator: 'Iterator' };
const ASYNC: Style = { def: 'async def', wait: 'await ', iterator: 'AsyncIterator' };

const fileFields = ({ data, mimeType, fileName }: NonNullable<ToolDefinition['raw']>): string =>
  `FileFields(${literal(data)}, ${literal(mimeType)}, ${literal(fileName ?? null)})`;

function toolMethod({ tool, input, output, hasSecrets }: ClientTool, { def, wait }: Style): string {
  const { name, title, price, description, raw } = tool;
  const info = `ToolInfo(${literal(name)}, ${literal(hasSecrets)})`;
  const result = raw === undefined ? `Result[${output}]` : `FileResult[${output}]`;
  const fields = raw === undefined ? '' : `${fileFields(raw)}, `;
  return `    ${def} ${snake(name)}(
        self,
        input: ${input},
        *,
        max_credits: Optional[int] = None,
        timeout: Optional[float] = None,
        idempotency_key: Union[str, Literal[False], None] = None,
    ) -> ${result}:
        ${docstring(`${title} (${creditsOf(price)}). ${description}`)}
        options = CallOptions(max_credits, timeout, idempotency_key)
        return ${wait}self.${raw === undefined ? '_run' : '_run_for_file'}(${info}, ${fields}input, options)
`;
}

function toolClass(name: string, tools: readonly ClientTool[], style: Style): string {
  const { def } = style;
  return `class ${name}:
    """A method for each tool."""

    ${def} _run(self, tool: ToolInfo, input: Any, options: CallOptions) -> Result[Any]:
        raise NotImplementedError

    ${def} _run_for_file(
        self, tool: ToolInfo, fields: FileFields, input: Any, options: CallOptions
    ) -> FileResult[Any]:
        raise NotImplementedError

${tools.map((tool) => toolMethod(tool, style)).join('\n')}`;
}

const imports = (names: Iterable<string>): string =>
  `from .types import (\n${[...new Set(names)]
    .sort()
    .map((name) => `    ${name},\n`)
    .join('')})\n`;

/** Classes with a method for each tool, one of them for asyncio. */
export const pythonToolsFile = ({
  tools,
}: Definitions): string => `${HEAD}from typing import Any, Dict, Literal, Optional, Union

from ._result import CallOptions, FileFields, FileResult, Result, ToolInfo
${imports(tools.flatMap(({ input, output }) => [input, output]))}

${toolClass('ToolMethods', tools, SYNC)}

${toolClass('AsyncToolMethods', tools, ASYNC)}

JOB_FILES: Dict[str, FileFields] = {
${tools.flatMap(({ tool: { name, raw }, hasSecrets }) => (raw === undefined || hasSecrets ? [] : [`    ${literal(name)}: ${fileFields(raw)},\n`])).join('')}}
"""The fields that form the file of a tool, by the name of the tool."""
`;

function operationMethod(it: ClientOperation, { def, wait, iterator }: Style): string {
  const { operation, hasId, query, body, result, isList } = it;
  const { id, method, path, summary, description = '' } = operation;
  const parameters = [
    'self',
    ...(hasId ? ['id: str'] : []),
    ...(query === null ? [] : [`query: Optional[${query}] = None`]),
    ...(body === null
      ? []
      : [body.isRequired ? `body: ${body.type}` : `body: Optional[${body.type}] = None`]),
  ].join(', ');
  const url = hasId ? `path_of(${literal(path)}, id)` : literal(path);
  const doc = docstring(
    `${summary}. ${description}${isList ? ' Fetches page after page while you iterate.' : ''}`.trim(),
  );
  const head = `${snake(id)}(${parameters}) ->`;
  if (isList)
    return `    def ${head} ${iterator}[${result}]:
        ${doc}
        return self._list(${url}, query)
`;
  const sent = body === null ? 'None' : body.isRequired ? 'body' : 'body or {}';
  const request = `${wait}self._request(${literal(method.toUpperCase())}, ${url}, ${sent})`;
  return `    ${def} ${head} ${result ?? 'None'}:
        ${doc}
        ${result === null ? request : `row: ${result} = ${request}\n        return row`}
`;
}

function accountClass(name: string, operations: readonly ClientOperation[], style: Style): string {
  return `class ${name}:
    """A method for each operation of the Account API."""

    ${style.def} _request(self, method: str, path: str, body: Any = None) -> Any:
        raise NotImplementedError

    def _list(self, path: str, query: Any) -> ${style.iterator}[Any]:
        raise NotImplementedError

${operations.map((operation) => operationMethod(operation, style)).join('\n')}`;
}

/** Classes with a method for each operation of the Account API, one of them for asyncio. */
export const pythonAccountFile = ({
  operations,
}: Definitions): string => `${HEAD}from typing import Any, AsyncIterator, Iterator, Optional

from ._result import path_of
${imports(
  operations.flatMap(({ query, body, result }) =>
    [query, body?.type, result].filter((name) => typeof name === 'string'),
  ),
)}

${accountClass('AccountMethods', operations, SYNC)}

${accountClass('AsyncAccountMethods', operations, ASYNC)}`;
