import { writeFileSync } from 'node:fs';
import { office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { EXAMPLE_PAGE } from '../../schemas/formats/examplePage.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { startFiles } from '../helpers/images.ts';
import type { Json } from '../helpers/json.ts';
import { makeDocx } from '../helpers/office.ts';
import { loadTool } from '../helpers/tool.ts';

/** Makes the files in the outputs of the examples, with the tools themselves. */

type Context = Parameters<Awaited<ReturnType<typeof loadTool>>['call']>[1];

/** Runs the example of a tool and stores its file. @param target replaces fields of the input that name a target */
async function make(name: string, type: string, context: Context, target: Json = {}): Promise<void> {
  const tool = await loadTool(name);
  const output = await tool.call({ ...tool.definition.examples[0]?.input, ...target }, context);
  const file = new URL(`../../schemas/examples/${name}.${type}`, import.meta.url);
  writeFileSync(file, Buffer.from(String(output.fileBase64), 'base64'));
}

{
  await using resource = await office.open({ env: readEnv({}), log: () => undefined });
  const files = await startFiles();
  const fileUrl = files.put({ bytes: makeDocx() }, 'letter.docx');
  await make('word-to-pdf', 'pdf', { egress: files.guard, resource }, { fileUrl });
  files.close();
}
{
  await using resource = await openBrowsers();
  const site = await startSite({ '/': EXAMPLE_PAGE });
  const context = { egress: site.guard(), resource };
  await make('html-to-image', 'png', context);
  await make('website-screenshot', 'png', context, { url: `${site.origin}/` });
  site.close();
}
// The processes of the decoders end with this one.
process.exit();
