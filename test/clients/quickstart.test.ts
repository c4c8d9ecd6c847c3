import test from 'ava';
import { makeAccount } from '../helpers/account.ts';
import { KEY_VARIABLE } from '../helpers/agentClients.ts';
import { runSnippet, snippetsOf } from '../helpers/guideSnippets.ts';
import { useStack } from '../helpers/profiles.ts';

const stack = await useStack();
test.after.always(() => stack.stop());

for (const language of ['js', 'python', 'go', 'php'])
  test(`the quickstart in ${language} runs as it is printed, and shows an error`, async (t) => {
    const { toolsKey } = await makeAccount(stack, 10);
    const guide = await (await fetch(`${stack.baseUrl}/docs/quickstart.md`)).text();
    const snippet = snippetsOf(guide).find((it) => it.language === language) ?? t.fail('no snippet');
    t.is(
      await runSnippet(snippet, { [KEY_VARIABLE]: toolsKey }),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n',
    );
    const refused = await runSnippet(snippet, { [KEY_VARIABLE]: 'ut_wrong' }).catch((error: unknown) =>
      String(error),
    );
    t.regex(refused, /invalid_api_key: /);
  });
