export { callTool } from './callTool.ts';
export { sweep } from './sweep.ts';
