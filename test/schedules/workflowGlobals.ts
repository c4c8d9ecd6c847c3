import { AsyncLocalStorage } from 'node:async_hooks';

// The SDK for workflows takes this class from the global object of its sandbox when it is loaded, so this file is imported
// before anything that imports the SDK.
Object.assign(globalThis, { AsyncLocalStorage });
