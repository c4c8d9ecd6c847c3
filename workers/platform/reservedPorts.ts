/**
 * Adds the ports that the parent process sends over the IPC channel to `ports`: a restarted server may listen on another
 * port than before.
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
