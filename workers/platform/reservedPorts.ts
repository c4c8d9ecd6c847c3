import { isRecord } from '../../schemas/isRecord.ts';

/**
 * Adds ports from the parent process's IPC messages to `ports`. A restarted server of the stack may use another port,
 * which the guard must block too.
 */
export function addReservedPorts(ports: number[]): void {
  process.on('message', (message) => {
    if (!isRecord(message) || message.type !== 'ownPorts' || !Array.isArray(message.ports)) return;
    for (const port of message.ports) if (typeof port === 'number' && !ports.includes(port)) ports.push(port);
  });
}
