import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { clientEnv } from '../../dev/host.mjs';
import { makeAccount } from '../helpers/account.ts';
import { snippetsOf } from '../helpers/guideSnippets.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { go } from '../provision/items/go.ts';

const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

/** A program that uses what the README does not show. */
const PROGRAM = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"utilitytools"
)

func codeOf(err error) string {
	var problem *utilitytools.APIError
	if errors.As(err, &problem) {
		return problem.Code
	}
	return fmt.Sprint(err)
}

func main() {
	ctx := context.Background()
	client := utilitytools.New(os.Getenv("UTILITY_TOOLS_API_KEY"), os.Getenv("UTILITY_TOOLS_URL"))
	input := utilitytools.HashTextInput{Text: "abc"}
	first, _ := client.HashText(ctx, input)
	again, _ := client.HashText(ctx, input, utilitytools.CallOptions{IdempotencyKey: first.IdempotencyKey})
	fmt.Println(first.Output.Hash, first.Charged, first.Left, again.Replayed, again.Charged)
	code, _ := client.QrGenerate(ctx, utilitytools.QrGenerateInput{Text: "abc", Size: utilitytools.Ptr(100)})
	file, _ := code.Output.File()
	fmt.Printf("%x\\n", file[:4])
	uploaded, _ := client.Upload(ctx, "Näher.png", file)
	input2 := utilitytools.WatermarkImageInput{FileUrl: uploaded.ID, Text: "a", Output: utilitytools.Ptr("link")}
	drawn, _ := client.WatermarkImage(ctx, input2)
	_, linked := drawn.Output.File()
	fmt.Println(uploaded.Type, drawn.Output.FileName, linked, client.DeleteFile(ctx, uploaded.ID))
	_, err := client.WatermarkImage(ctx, input2)
	fmt.Println(codeOf(err))
	_, err = client.HashText(ctx, utilitytools.HashTextInput{Algorithm: utilitytools.Ptr("md6")})
	fmt.Println(codeOf(err))
	_, err = client.HashText(ctx, input, utilitytools.CallOptions{MaxCredits: utilitytools.Ptr(0)})
	fmt.Println(codeOf(err))
	_, err = utilitytools.New("ut_wrong", client.BaseURL).HashText(ctx, input)
	fmt.Println(codeOf(err))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = client.HashText(cancelled, input)
	fmt.Println(errors.Is(err, context.Canceled))
}
`;

let stack: SharedStack;
let folder: string;

test.before(async () => {
  stack = await useStack();
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-go-'));
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

test('the Go client passes go vet, and calls the service as its README shows', async (t) => {
  t.timeout(900_000);
  const program = await go.get((line) => t.log(line));
  const { toolsKey } = await makeAccount(stack, 100);
  const env = {
    ...clientEnv(),
    GOPROXY: 'off',
    GOFLAGS: '-mod=mod',
    UTILITY_TOOLS_API_KEY: toolsKey,
    UTILITY_TOOLS_URL: stack.baseUrl,
  };
  const at = join(folder, 'program');
  const run = async (...args: string[]) =>
    (await promisify(execFile)(program, args, { cwd: at, env, timeout: 600_000 })).stdout;
  await mkdir(at);
  await cp(project('clients/go'), join(folder, 'utilitytools'), { recursive: true });
  await run('mod', 'init', 'program');
  await run('mod', 'edit', '-require', 'utilitytools@v0.0.0', '-replace', 'utilitytools=../utilitytools');
  await writeFile(join(at, 'main.go'), PROGRAM);
  await run('vet', 'program', 'utilitytools');
  t.is(
    await run('run', '.'),
    `${ABC} 1 99 true 0\n89504e47\nimage/png Näher.png the file is not in the result: download it from FileUrl <nil>\nnot_found\ninvalid_input\nprice_above_max\ninvalid_api_key\ntrue\n`,
  );
  const [snippet] = snippetsOf(await readFile(project('clients/go/README.md'), 'utf8')).filter(
    ({ language }) => language === 'go',
  );
  await writeFile(
    join(at, 'main.go'),
    (snippet?.code ?? '').replaceAll('http://127.0.0.1:8080', stack.baseUrl),
  );
  t.regex(await run('run', '.'), new RegExp(`^${ABC} 1$`, 'm'));
});
