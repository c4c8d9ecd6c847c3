import { createHash } from 'node:crypto';
import type { Store } from '../mongo/mongo.ts';
import type { NewKey } from './apiKeys.ts';

/** What is signed in. */
export interface DeviceOrigin {
  /** Scope of the key. */
  scope: 'tools' | 'account';
  /** Name of the machine, as the command states it; may be empty. */
  device: string;
  /** Client address of the request. */
  address: string;
  startedAt: Date;
}

/** A sign-in of the command line; better-auth's plugin for device authorization writes it, with more fields. */
interface DeviceCodeDoc {
  /** SHA-256 of the device code in hexadecimal. */
  deviceCode: string;
  userCode: string;
  expiresAt: Date;
  /** Where the sign-in was started; missing for an unknown program. */
  origin?: DeviceOrigin;
  /** The key that the owner has approved. */
  key?: NewKey;
}

export const hashDeviceCode = (code: string): string => createHash('sha256').update(code).digest('hex');

/** The keys that owners have approved for sign-ins of the command line. */
export interface DeviceLogins {
  /** Stores where the sign-in of a device code with this hash was started. */
  setOrigin(hash: string, origin: DeviceOrigin): Promise<void>;
  originOf(userCode: string): Promise<DeviceOrigin | null>;
  /** Stores the limits of the key before better-auth records that the owner approves the code. */
  setKey(userCode: string, key: NewKey): Promise<void>;
  /** The approved key of a device code with this hash; null if there is none. */
  keyOf(hash: string): Promise<NewKey | null>;
}

export function createDeviceLogins({ db }: Pick<Store, 'db'>): DeviceLogins {
  const codes = db.collection<DeviceCodeDoc>('deviceCodes');
  return {
    async setOrigin(hash, origin) {
      await codes.updateOne({ deviceCode: hash }, { $set: { origin } });
    },
    originOf: async (userCode) => (await codes.findOne({ userCode }))?.origin ?? null,
    async setKey(userCode, key) {
      await codes.updateOne({ userCode }, { $set: { key } });
    },
    keyOf: async (hash) => (await codes.findOne({ deviceCode: hash }))?.key ?? null,
  };
}
