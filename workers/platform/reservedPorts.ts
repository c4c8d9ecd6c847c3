/**
 * Adds to `ports` what whoever started this process tells it, over their channel, of ports that are ours: a server that
 * comes back may listen elsewhere than it did.
 */
export function addReservedPorts(ports: number[]): void {
  process.on('message', (message) => {
    if (typeof message !== 'object' || message === null || Reflect.get(message, 'type') !== 'ownPorts')
      return;
    const told: unknown = Reflect.get(message, 'ports');
    if (!Array.isArray(told)) return;
    for (const port of told) if (typeof port === 'number' && !ports.includes(port)) ports.push(port);
  });
}
