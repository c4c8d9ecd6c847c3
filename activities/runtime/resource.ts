import type { Env } from '../../schemas/env.ts';
import type { BrowserMetrics } from '../browser/metrics.ts';

export interface ResourceOptions {
  env: Env;
  /** Writes a line to the operator's log. */
  log(line: string): void;
  /** Receives the live metrics of the browsers. */
  observeBrowsers?(metrics: BrowserMetrics): void;
}

/** State that tools keep between calls, such as a warm program. Opened once per worker, closed when the worker ends. */
export interface Resource<T extends AsyncDisposable> {
  /** Name for the log, such as "LibreOffice". */
  name: string;
  /** @throws ServiceError tool_unavailable; its detail is shown to callers and names what is missing on the installation */
  open(options: ResourceOptions): Promise<T>;
}
