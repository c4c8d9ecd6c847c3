/** A program, and the Debian package that contains it. */
export interface DebianProgram {
  /** Name of the program on PATH or, for a package without a program, the absolute path of a file in the package. */
  program: string;
  package: string;
  /** Environment variable with which the operator provides another program. If it is set, this program is not needed. */
  unless?: string;
  /** Whether Debian 12 has to take the package from its backports. Default: false. */
  backports?: boolean;
}

export interface UnpackOptions {
  log(line: string): void;
  signal?: AbortSignal | undefined;
}

export function isDebian(): Promise<boolean>;
export const TOOL_PROGRAMS: readonly DebianProgram[];
export function findMissing(programs: readonly DebianProgram[], root?: string): Promise<DebianProgram[]>;
export function backportsConfig(folder: string, programs: readonly DebianProgram[]): Promise<string>;
export function findUnpacked(name: string, programs: readonly DebianProgram[]): Promise<string | null>;
export function unpack(
  name: string,
  programs: readonly DebianProgram[],
  options: UnpackOptions,
): Promise<string>;
export function unpackTools(options: UnpackOptions): Promise<string>;
export function unpackServerPrograms(options: UnpackOptions): Promise<string>;
