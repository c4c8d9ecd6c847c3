// Runs workflows with n8n's engine: the loader of packages, the workflow with its expressions, the execution of nodes with retries
// and error outputs, and n8n's requests. Only what n8n's server adds is written here: where credentials come from.
// Arguments: the folder of n8n's packages, the folder of the node's package. Input: a list of runs. Output: their results.
import { createRequire } from 'node:module';
import { json } from 'node:stream/consumers';

const [packages, folder] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
require('reflect-metadata');
const { Workflow, createRunExecutionData } = require('n8n-workflow');
const { ExecutionLifecycleHooks, PackageDirectoryLoader, WorkflowExecute } = require('n8n-core');

const loader = new PackageDirectoryLoader(folder);
await loader.loadAll();
const CREDENTIALS = 'utilityToolsApi';
const { type: credentialType } = loader.getCredential(CREDENTIALS);

/** The node whose output is pinned to the items of a run. */
const START = {
  description: { name: 'start', group: ['trigger'], inputs: [], outputs: ['main'], properties: [] },
  execute: async () => [[]],
};

/** How n8n tests credentials: a node that sends their test request. */
const CHECK = {
  description: {
    name: 'check',
    group: ['transform'],
    inputs: ['main'],
    outputs: ['main'],
    credentials: [{ name: CREDENTIALS, required: true }],
    properties: [
      {
        displayName: 'Check',
        name: 'check',
        type: 'string',
        default: '',
        routing: { request: credentialType.test.request },
      },
    ],
  },
};

const typeOf = (name) =>
  name === 'start' ? START : name === 'check' ? CHECK : loader.getNode(name.split('.').at(-1)).type;
const nodeTypes = { getByName: typeOf, getByNameAndVersion: typeOf, getKnownTypes: () => ({}) };

/** Adds the headers of the credentials to a request, as n8n's server does for the generic method. */
function authenticate(credentials, _type, request, workflow, node) {
  const resolve = (value) =>
    workflow.expression.getSimpleParameterValue(
      node,
      value,
      'internal',
      { $credentials: credentials },
      undefined,
      '',
    );
  const headers = Object.entries(credentialType.authenticate.properties.headers);
  return {
    ...request,
    headers: {
      ...request.headers,
      ...Object.fromEntries(headers.map(([name, value]) => [name, resolve(value)])),
    },
  };
}

/** Runs nodes one after the other. @returns the items and the error of the last one */
async function run({ executionId, credentials, items, nodes }) {
  const all = [{ name: 'start', type: 'start' }, ...nodes].map((node, index) => ({
    typeVersion: 1,
    position: [0, 0],
    id: `node-${index}`,
    name: `node ${index}`,
    parameters: {},
    credentials: { [CREDENTIALS]: { id: '1', name: 'test' } },
    ...node,
  }));
  const connections = Object.fromEntries(
    all
      .slice(1)
      .map(({ name }, index) => [all[index].name, { main: [[{ node: name, type: 'main', index: 0 }]] }]),
  );
  const settings = { executionOrder: 'v1' };
  const workflow = new Workflow({
    id: 'workflow-1',
    name: 'test',
    nodes: all,
    connections,
    active: false,
    nodeTypes,
    settings,
  });
  const additionalData = {
    executionId,
    hooks: new ExecutionLifecycleHooks('manual', executionId, {
      id: workflow.id,
      nodes: all,
      connections,
      settings,
    }),
    currentNodeExecutionIndex: 0,
    variables: {},
    // Of these n8n makes the addresses at which a waiting execution continues.
    webhookWaitingBaseUrl: 'http://127.0.0.1:9/webhook-waiting',
    formWaitingBaseUrl: 'http://127.0.0.1:9/form-waiting',
    credentialsHelper: {
      getParentTypes: () => [],
      isCredentialUsableByNode: () => true,
      preAuthentication: async () => undefined,
      getDecrypted: async () => credentials,
      getCredentialsProperties: () => credentialType.properties,
      authenticate: async (...given) => authenticate(...given),
    },
  };
  const data = createRunExecutionData({});
  const execution = new WorkflowExecute(additionalData, 'manual', data);
  const pinData = { start: items };
  const { resultData } = (await execution.run({ workflow, startNode: workflow.getNode('start'), pinData }))
    .data;
  const last = resultData.runData[all.at(-1).name]?.[0];
  const { error = null } = resultData;
  return {
    outputs: last?.data?.main ?? [],
    error: error && {
      kind: error.name,
      message: error.message,
      description: error.description,
      httpCode: error.httpCode,
      context: error.context,
    },
  };
}

const results = [];
for (const one of await json(process.stdin)) results.push(await run(one));
const { description } = loader.getNode('utilityTools').type;
process.stdout.write(JSON.stringify({ results, description }), () => process.exit());
