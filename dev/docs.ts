import { writeFile } from 'node:fs/promises';
import { generatedFiles, projectFile } from './tables.ts';

/** Run by `npm run docs`: updates the tables in the documentation that are generated from code. */
for (const { file, actual, expected } of await generatedFiles())
  if (actual !== expected) {
    await writeFile(projectFile(file), expected);
    console.log(`updated ${file}`);
  }
