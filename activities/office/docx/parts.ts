import { posix } from 'node:path';
import { decodeXml, scanXml } from '../xml.ts';
import type { Zip } from '../zip.ts';

/** A relationship of a part (ECMA-376-2, 9.3). */
export interface Relation {
  /** Last segment of its type. */
  type: string;
  /** Name of the target in the archive; null when it is outside the document. */
  target: string | null;
}

/** Maximum size in bytes of one part with text. The text of a larger one is not read. */
const PART_BYTES = 150_000_000;

/** Reads an XML part; '' when it is missing. */
export const readXml = async (zip: Zip, name: string): Promise<string> =>
  decodeXml(await zip.readPart(name, PART_BYTES));

/** Reads the relationships of a part by id. @param part '' for those of the whole document */
export async function readRelations(zip: Zip, part: string): Promise<Map<string, Relation>> {
  const folder = posix.dirname(part);
  const name = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  const relations = new Map<string, Relation>();
  scanXml(await readXml(zip, name), {
    open({ name: tag, attributes: { Id, Type, Target, TargetMode } }) {
      if (tag !== 'rel:Relationship' || Id === undefined || Target === undefined) return;
      const path = posix.join('/', folder, Target).slice(1);
      const target = Target.startsWith('/') ? Target.slice(1) : path;
      const type = Type?.split('/').at(-1) ?? '';
      relations.set(Id, { type, target: TargetMode === 'External' ? null : target });
    },
  });
  return relations;
}

/** Finds the main part of a Word document. */
export async function findMain(zip: Zip): Promise<string> {
  const relations = [...(await readRelations(zip, '')).values()];
  return relations.find(({ type }) => type === 'officeDocument')?.target ?? 'word/document.xml';
}
