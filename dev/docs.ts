import { writeFile } from 'node:fs/promises';
import { generatedFiles, projectFile } from './tables.ts';

/** Run by `npm run docs`: updates what is generated from code: parts of documents, containers and the chart, and files of the clients. */
for (const { file, actual, expected } of await generatedFiles())
  if (actual !== expected) {
    await writeFile(projectFile(file), expected);
    console.log(`updated ${file}`);
  }
