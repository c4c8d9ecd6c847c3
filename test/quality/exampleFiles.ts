import { writeFileSync } from 'node:fs';
import sharp from 'sharp';
import { office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { EXAMPLE_PAGE } from '../../schemas/formats/examplePage.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { startFiles } from '../helpers/images.ts';
import type { Json } from '../helpers/json.ts';
import { makeDocx } from '../helpers/office.ts';
import { loadTool } from '../helpers/tool.ts';

type Context = Parameters<Awaited<ReturnType<typeof loadTool>>['call']>[1];

/** Makes the files in the outputs of the examples, with the tools themselves. @param folder of the files */
export async function makeExampleFiles(folder: URL): Promise<void> {
  await using owned = new AsyncDisposableStack();
  /** Runs the example of a tool and stores its file. @param target replaces fields of the input that name a target */
  async function make(name: string, type: string, context: Context, target: Json = {}): Promise<void> {
    const tool = await loadTool(name);
    const output = await tool.call({ ...tool.definition.examples[0]?.input, ...target }, context);
    const file = Buffer.from(String(output[tool.definition.raw?.data ?? '']), 'base64');
    // The same pixels in fewer bytes, because the OpenAPI document contains the file.
    const packed = type === 'png' ? await sharp(file).png({ compressionLevel: 9 }).toBuffer() : file;
    writeFileSync(new URL(`${name}.${type}`, folder), packed.length < file.length ? packed : file);
  }

  const converter = owned.use(await office.open({ env: readEnv({}), log: () => undefined }));
  const files = owned.adopt(await startFiles(), (it) => it.close());
  const fileUrl = files.put({ bytes: makeDocx() }, 'letter.docx');
  await make('word-to-pdf', 'pdf', { egress: files.guard, resource: converter }, { fileUrl });

  const browsers = owned.use(await openBrowsers());
  const site = owned.adopt(await startSite({ '/': EXAMPLE_PAGE }), (it) => it.close());
  const context = { egress: site.guard(), resource: browsers };
  await make('qr-generate', 'png', context);
  await make('html-to-image', 'png', context);
  await make('website-screenshot', 'png', context, { url: `${site.origin}/` });
}

if (import.meta.main) {
  await makeExampleFiles(new URL('../../schemas/examples/', import.meta.url));
  // The processes of the decoders end with this one.
  process.exit();
}
