import type { DnsRecord } from '../../egress/dns/record.ts';
import type { ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/dns-lookup.ts';
import { decodeChunks } from './decodeChunks.ts';

type Output = ToolOutput<typeof definition>['records'][number];

const CRITICAL = 0x80;

/** Returns a record as the tool's output has it: binary data as text, in the form that its type has in zone files. */
export function presentRecord({ owner: _, ...record }: DnsRecord): Output {
  const { type, ...fields } = record;
  if ('chunks' in fields) {
    const chunks = decodeChunks(fields.chunks);
    return { text: chunks.join(''), chunks, ttl: fields.ttl };
  }
  if ('association' in fields) {
    const { association, ...rest } = fields;
    return { ...rest, data: association.toString('hex') };
  }
  if ('digest' in fields) return { ...fields, digest: fields.digest.toString('hex') };
  if ('publicKey' in fields) return { ...fields, publicKey: fields.publicKey.toString('base64') };
  if ('tag' in fields) {
    const [value = ''] = decodeChunks([fields.value]);
    return { ...fields, critical: (fields.flags & CRITICAL) !== 0, value };
  }
  return fields;
}
