import { isRecord } from '../schemas/isRecord.ts';

/**
 * Adds ports from the parent process's IPC messages to `ports`. A server of the local stack may listen on another port
 * after a restart, and the guard must block that port as well.
 */
export function addReservedPorts(ports: number[]): void {
  process.on('message', (message) => {
    if (!isRecord(message) || message.type !== 'ownPorts' || !Array.isArray(message.ports)) return;
    for (const port of message.ports) if (typeof port === 'number' && !ports.includes(port)) ports.push(port);
  });
}
