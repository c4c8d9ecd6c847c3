import type { FileFields } from '../result.ts';

/** An option of a tool's command: one field of the tool's input. */
export interface CommandOption {
  field: string;
  /** `list` is a list of strings, whose option can be repeated. `json` takes JSON, or else text. */
  kind: 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'json';
  isRequired: boolean;
  /** A secret, which does not belong on a command line that other users of the machine can see. */
  isSecret: boolean;
  choices?: readonly (string | number)[];
  /** The default as JSON. */
  fallback?: string;
  about: string;
}

/** The command of a tool. */
export interface Command {
  name: string;
  title: string;
  price: number;
  description: string;
  hasSecrets: boolean;
  /** The output fields that form a file, or null. */
  file: FileFields | null;
  options: readonly CommandOption[];
}

/** Whether the tool reads a file, which the command can send. */
export const readsFile = ({ options }: Pick<Command, 'options'>): boolean =>
  options.some(({ field }) => field === 'fileUrl');

/** `fullPage` -> `full-page` */
export const flagOf = ({ field }: CommandOption): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
