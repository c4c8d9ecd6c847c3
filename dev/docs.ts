import { writeFile } from 'node:fs/promises';
import { generatedFiles, projectFile } from './tables.ts';

/** `npm run docs`: regenerates the tables of the documentation that derive from code. */
for (const { file, is, should } of await generatedFiles())
  if (is !== should) {
    await writeFile(projectFile(file), should);
    console.log(`updated ${file}`);
  }
