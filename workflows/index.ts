export { allowance } from './allowance.ts';
export { callTool } from './callTool.ts';
export { handOver } from './handOver.ts';
export { sweep } from './sweep.ts';
export { webhookEndpoint } from './webhookEndpoint.ts';
