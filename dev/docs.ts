import { updateGenerated } from './tables.ts';

/** Run by `npm run docs`: updates what is generated from code: parts of documents, containers and the chart, and files of the clients. */
await updateGenerated(console.log);
