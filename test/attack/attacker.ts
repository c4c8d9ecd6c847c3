import { setPriority } from 'node:os';
import { Agent, setGlobalDispatcher } from 'undici';
import { onParentExit } from '../../platform/onParentExit.ts';
import { ATTACKS } from './attacks.ts';
import { ATTACKER_ADDRESSES, type Scene } from './scene.ts';

/**
 * Attackers have machines of their own. At the lowest priority, their processor time is not taken from the service when
 * all run on one machine.
 */
const LOWEST_PRIORITY = 19;

// Started by startAttacker.ts as a process of its own: attacker.ts NAME SCENE SHARE. Attacks until it is killed.
onParentExit(() => process.exit(1));
const [name = '', json = '', share] = process.argv.slice(2);
const scene: Scene = JSON.parse(json);
setPriority(LOWEST_PRIORITY);
const [localAddress = ''] = ATTACKER_ADDRESSES;
setGlobalDispatcher(new Agent({ connect: { localAddress } }));
await ATTACKS[name]?.run(scene, Number(share), () => process.send?.(null));
