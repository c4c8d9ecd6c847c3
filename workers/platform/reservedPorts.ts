/**
 * Adds ports from the parent process's IPC messages to `ports`. A restarted server of the stack may use another port,
 * which the guard must block too.
 */
export function addReservedPorts(ports: number[]): void {
  process.on('message', (message) => {
    if (typeof message !== 'object' || message === null || Reflect.get(message, 'type') !== 'ownPorts')
      return;
    const received: unknown = Reflect.get(message, 'ports');
    if (!Array.isArray(received)) return;
    for (const port of received) if (typeof port === 'number' && !ports.includes(port)) ports.push(port);
  });
}
