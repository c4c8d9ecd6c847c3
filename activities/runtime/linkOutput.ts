import { suggestedName } from '../../schemas/formats/fileType.ts';
import { NO_LINK } from '../../schemas/formats/linkOutput.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { type Links, linkUrl } from '../../store/files/links.ts';
import type { ToolAttempt, ToolResult } from '../../workflows/types.ts';

/** An output as the caller gets it, and the file that is stored beside it. */
interface ShownOutput {
  output: Record<string, unknown>;
  linked?: ToolResult['linked'];
}

/**
 * Adds to the output of a tool the fields that every tool with a file has. If the input asks for it, the file is stored under an
 * address and left out of the output.
 */
export async function linkOutput(
  { name: toolName, raw }: Pick<ToolDefinition, 'name' | 'raw'>,
  input: Record<string, unknown>,
  output: Record<string, unknown>,
  { callId, baseUrl }: Pick<ToolAttempt, 'callId' | 'baseUrl'>,
  links: Pick<Links, 'store'>,
): Promise<ShownOutput> {
  if (raw === undefined) return { output };
  if (input.output !== 'link') return { output: { ...output, ...NO_LINK } };
  if (baseUrl === undefined) throw new Error(`call ${callId} has no URL for the address of its file`);
  const type = String(output[raw.mimeType]);
  const named = raw.fileName === undefined ? undefined : output[raw.fileName];
  const { file: stored, token } = await links.store(callId, {
    bytes: Buffer.from(String(output[raw.data]), 'base64'),
    type,
    name: typeof named === 'string' ? named : suggestedName(toolName, type),
  });
  const { content, sizeBytes, expiresAt } = stored;
  return {
    output: {
      ...output,
      [raw.data]: null,
      fileUrl: linkUrl(baseUrl, callId, token),
      fileExpiresAt: new Date(expiresAt).toISOString(),
    },
    linked: { content, sizeBytes, expiresAt },
  };
}
