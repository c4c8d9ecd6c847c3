import {
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  NodeApiError,
  NodeConnectionTypes,
  NodeOperationError,
} from 'n8n-workflow';
import { callTool, isRecord } from './call';
import { PROPERTIES } from './generated';

type Failure = NodeApiError | NodeOperationError;

/** The error of an item as its output, in the only form that n8n's error output recognises. */
const errorItem = ({ message, description, context }: Failure, item: number): INodeExecutionData => ({
  json: {
    error: message,
    message: description ?? '',
    details: isRecord(context.data) ? context.data : {},
  },
  pairedItem: { item },
});

export class UtilityTools implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Utility Tools',
    name: 'utilityTools',
    icon: { light: 'file:../../icons/utilityTools.svg', dark: 'file:../../icons/utilityTools.dark.svg' },
    group: ['transform'],
    version: 1,
    subtitle: '={{ $parameter["operation"] }}',
    description: 'Takes screenshots, converts documents, checks networks and more',
    defaults: { name: 'Utility Tools' },
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'utilityToolsApi', required: true }],
    usableAsTool: true,
    properties: PROPERTIES,
  };

  /** Calls the tool for each item. */
  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = [];
    for (let item = 0; item < this.getInputData().length; item++) {
      try {
        results.push({ ...(await callTool(this, item)), pairedItem: { item } });
      } catch (error) {
        const failure =
          error instanceof NodeApiError || error instanceof NodeOperationError
            ? error
            : new NodeOperationError(this.getNode(), error instanceof Error ? error : String(error));
        failure.context.itemIndex = item;
        if (!this.continueOnFail()) throw failure;
        results.push(errorItem(failure, item));
      }
    }
    return [results];
  }
}
