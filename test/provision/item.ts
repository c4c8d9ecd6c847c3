import { dirname } from 'node:path';
import { findOrFetch, findProgram, type Program } from '../../dev/programs/find.ts';
import type { Log } from '../../dev/start-error.ts';

interface ItemOptions extends Program {
  /** Name and version of the item. No program on PATH has such a name, so that every machine uses the same version. */
  name: string;
  /** Name in the cache, which contains the version. */
  cachedAs: string;
  /** Seconds that fetching it usually takes on two quiet cores. */
  usually: number;
  /** Items that fetching this one needs. */
  needs?: readonly Item[];
  /** Whether the item is the folder of its program. Default: it is the program. */
  asFolder?: boolean;
}

/** A program or folder of packages that tests need, and that is fetched into this user's cache once for each version. */
export class Item {
  readonly #options: ItemOptions;

  constructor(options: ItemOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get usually(): number {
    return this.#options.usually;
  }

  get needs(): readonly Item[] {
    return this.#options.needs ?? [];
  }

  /** Whether nothing must be fetched. */
  async isPresent(signal?: AbortSignal): Promise<boolean> {
    return (await findProgram(this.#options, signal)) !== null;
  }

  /**
   * Returns the path of the item. Fetches it if it is missing: that is the case only when a test file runs without the
   * set-up of `npm test`.
   *
   * @throws StartError when it cannot be fetched
   */
  async get(log: Log, signal?: AbortSignal): Promise<string> {
    const path = await findOrFetch(this.#options, log, signal);
    return this.#options.asFolder ? dirname(path) : path;
  }
}
