/**
 * Calls a function when the parent process has exited, which closes the IPC channel; at once if it exited before, because
 * the event is not repeated for a listener that is added later, such as after the modules of a program have been loaded.
 * Never calls it in a process that has no IPC channel.
 */
export function onParentExit(exited: () => void): void {
  if (process.connected === false) exited();
  else process.once('disconnect', exited);
}
