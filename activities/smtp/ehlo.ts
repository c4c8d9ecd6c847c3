import { type Reply, textOf } from './reply.ts';

/** What a server said of itself in its answer to EHLO (RFC 5321 section 4.1.1.1). */
export interface Capabilities {
  /** A keyword each, with its parameters. */
  extensions: string[];
  /** SASL mechanisms, in capitals. */
  authMechanisms: string[];
  starttls: boolean;
}

export const NO_CAPABILITIES: Capabilities = { extensions: [], authMechanisms: [], starttls: false };

/** Reads the lines after the first, which only greets. */
export function readCapabilities({ lines }: Reply): Capabilities {
  const extensions = lines
    .slice(1)
    .map((line) => textOf(line).trim())
    .filter((line) => line !== '');
  // Servers for clients of before RFC 2554 say it a second time, with an equals sign.
  const mechanisms = extensions.flatMap((line) => /^AUTH[ =](.*)$/i.exec(line)?.[1]?.split(/\s+/) ?? []);
  return {
    extensions,
    authMechanisms: [...new Set(mechanisms.map((name) => name.toUpperCase()))].filter((name) => name !== ''),
    starttls: extensions.some((line) => /^STARTTLS(?:\s|$)/i.test(line)),
  };
}
