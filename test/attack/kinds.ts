import type { Call, Flood } from './floods.ts';
import type { Scene } from './scene.ts';

/** Bytes of documents in MongoDB, and of histories of closed workflows in Temporal. */
export interface Stored {
  mongodb: number;
  temporal: number;
}

/** An attack on the availability of the service. */
export interface Attack {
  /** Attacks until its process is killed. @param count called for each connection and each request that can leave bytes */
  run(scene: Scene, share: number, count: () => void): Promise<unknown>;
  /** The call that the victim makes in the meantime. @param target base URL of `startTarget` */
  victim(target: string): Call;
  /** The flood of long calls that this is, for one of which the victim may have to wait. */
  flood?: Flood;
  /** Bytes that the attack may leave in storage, by the number of its connections or requests. Default: none. */
  leaves?(count: number): Partial<Stored>;
  /** MB of the API process. Default: `MEMORY` of measureAttacks.ts. */
  memory?: number;
}
