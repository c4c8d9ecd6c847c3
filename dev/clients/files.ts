import { readDefinitions } from './definitions.ts';
import { goFile } from './go.ts';
import { n8nFile } from './n8n.ts';
import { pythonAccountFile, pythonErrorsFile, pythonToolsFile, pythonTypesFile } from './python.ts';
import { accountFile, commandsFile, errorsFile, toolsFile, typesFile } from './typescript.ts';

const TYPESCRIPT = 'clients/typescript/src/generated';
const PYTHON = 'clients/python/src/utility_tools';

/** Returns the text of each generated file of the clients, by its path in the project. */
export async function clientFiles(): Promise<Record<string, string>> {
  const definitions = await readDefinitions();
  return {
    [`${TYPESCRIPT}/types.ts`]: typesFile(definitions),
    [`${TYPESCRIPT}/errors.ts`]: errorsFile(),
    [`${TYPESCRIPT}/tools.ts`]: toolsFile(definitions),
    [`${TYPESCRIPT}/account.ts`]: accountFile(definitions),
    [`${TYPESCRIPT}/commands.ts`]: commandsFile(definitions),
    [`${PYTHON}/types.py`]: pythonTypesFile(definitions),
    [`${PYTHON}/_remedies.py`]: pythonErrorsFile(),
    [`${PYTHON}/_tools.py`]: pythonToolsFile(definitions),
    [`${PYTHON}/_account_methods.py`]: pythonAccountFile(definitions),
    'clients/go/tools.go': goFile(definitions),
    'clients/n8n/nodes/UtilityTools/generated.ts': n8nFile(definitions),
  };
}
