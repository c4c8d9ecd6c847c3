/** What CSS says of a property that has to do with showing. */
export interface Declaration {
  value: string;
  important: boolean;
}

/** By property. */
export type Declarations = ReadonlyMap<string, Declaration>;

const DECLARATION = /^(display|visibility|content-visibility)\s*:\s*([a-z-]+)\s*(!\s*important\b)?/i;

/** The declarations of a rule or of a `style` attribute. */
export function readDeclarations(text: string): Declarations {
  const found = new Map<string, Declaration>();
  for (const part of text.split(';')) {
    const [, property, value = '', important] = DECLARATION.exec(part.trimStart()) ?? [];
    if (property === undefined) continue;
    const declaration = { value: value.toLowerCase(), important: important !== undefined };
    override(found, new Map([[property.toLowerCase(), declaration]]));
  }
  return found;
}

/** Takes over what outranks what is there: all of it but what is not important where something important stands. */
export function override(found: Map<string, Declaration>, later: Declarations): void {
  for (const [property, declaration] of later)
    if (declaration.important || found.get(property)?.important !== true) found.set(property, declaration);
}
