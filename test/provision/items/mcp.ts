import { npmPackages } from '../packages.ts';

/** The conformance suite of the protocol. This version is the first with the final scenarios of revision 2026-07-28. */
export const mcpConformance = npmPackages(
  'mcp-conformance',
  ['@modelcontextprotocol/conformance@0.2.0-alpha.12'],
  20,
);

export const mcpInspector = npmPackages('mcp-inspector', ['@modelcontextprotocol/inspector@2.12.0'], 30);

/** Tokenizers of OpenAI's models, by which the size of the list of tools is measured. */
export const tokenizer = npmPackages('tokenizer', ['js-tiktoken@1.0.21'], 10);
