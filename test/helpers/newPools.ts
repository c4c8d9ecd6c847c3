import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NEW_TOOLS } from './newTools.ts';

/** Two pools for a test to add to the project, each with a tool: a confined one, and one with a lane for fast tools. */
export const NEW_POOLS = {
  archive: { title: 'Archive tools', confined: true, tool: NEW_TOOLS.plain },
  audio: { title: 'Audio tools', confined: false, tool: NEW_TOOLS.program },
} as const;

type Name = keyof typeof NEW_POOLS;
const names = Object.keys(NEW_POOLS).filter((name): name is Name => name in NEW_POOLS);

/** Slots of a worker in each of the lanes `first` and `further`. */
export const NEW_SLOTS = 7;

const row = (name: Name): string => {
  const { title, confined } = NEW_POOLS[name];
  return `  ${name}: {
    title: '${title}',
    tools: 'tools of a test',
    boundBy: 'cores',
    slots: () => ${NEW_SLOTS},
    slotsText: '${NEW_SLOTS}',
    fastLane: ${!confined},
    jobMemory: 1,
    confined: ${confined},
    container: {
      memory: { limit: 6, request: 1.5 },
      cpuShares: 128,
      pids: 300,
      scaling: { maxReplicas: 3, backlog: 9 },
    },
    image: { megabytes: 1550 },
  },
`;
};

/** The files of the tools of these pools. */
export const newPoolFiles = (): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) =>
      Object.entries(NEW_POOLS[name].tool.files).map(([path, text]): [string, string] => [
        path,
        text.replace("pool: 'cpu'", `pool: '${name}'`),
      ]),
    ),
  );

/** Adds the rows of these pools to the table in a copy of the project. */
export async function addNewPools(folder: string): Promise<void> {
  const path = join(folder, 'schemas/pools.ts');
  const before = await readFile(path, 'utf8');
  const after = before.replace(/^(?=\} as const satisfies)/m, names.map(row).join(''));
  if (after === before) throw new Error('schemas/pools.ts has changed');
  await writeFile(path, after);
}
