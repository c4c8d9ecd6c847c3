/** The value that a declaration gives to a CSS property which affects visibility or layout. */
export interface Declaration {
  value: string;
  important: boolean;
}

/** Declarations, by the name of their property. */
export type Declarations = ReadonlyMap<string, Declaration>;

const DECLARATION = /^(display|visibility|content-visibility)\s*:\s*([a-z-]+)\s*(!\s*important\b)?/i;

/** Parses the declarations of a rule or a `style` attribute. */
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

/**
 * Adds later declarations to `found`. A later declaration replaces an earlier one of the same property, unless only the
 * earlier one is `!important`.
 */
export function override(found: Map<string, Declaration>, later: Declarations): void {
  for (const [property, declaration] of later)
    if (declaration.important || found.get(property)?.important !== true) found.set(property, declaration);
}
