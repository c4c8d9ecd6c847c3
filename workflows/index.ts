export { allowance } from './allowance.ts';
export { audit } from './audit.ts';
export { callTool } from './callTool.ts';
export { dispatchEvents } from './dispatchEvents.ts';
export { sweep } from './sweep.ts';
export { webhookEndpoint } from './webhookEndpoint.ts';
