import { type Reply, textOf } from './reply.ts';

/** Capabilities that a server announces in its reply to EHLO (RFC 5321 section 4.1.1.1). */
interface Capabilities {
  /** Keywords of SMTP extensions, with their parameters. */
  extensions: string[];
  /** SASL mechanisms in upper case. */
  authMechanisms: string[];
  starttls: boolean;
}

export const NO_CAPABILITIES: Capabilities = { extensions: [], authMechanisms: [], starttls: false };

/** Reads the capabilities of a reply to EHLO. The first line is only a greeting. */
export function readCapabilities({ lines }: Reply): Capabilities {
  const extensions = lines
    .slice(1)
    .map((line) => textOf(line).trim())
    .filter((line) => line !== '');
  // Some servers repeat AUTH with an equals sign for clients older than RFC 2554.
  const mechanisms = extensions.flatMap((line) => /^AUTH[ =](.*)$/i.exec(line)?.[1]?.split(/\s+/) ?? []);
  return {
    extensions,
    authMechanisms: [...new Set(mechanisms.map((name) => name.toUpperCase()))].filter((name) => name !== ''),
    starttls: extensions.some((line) => /^STARTTLS(?:\s|$)/i.test(line)),
  };
}
