/**
 * Lanes of a pool: each has its own task queue and its own slots on each worker.
 *
 * - `first`: calls of accounts that run no other call in the pool
 * - `further`: calls of accounts that run others, so that no account ever holds all slots of a pool
 * - `fast`: calls of tools that take milliseconds
 */
export type Lane = 'first' | 'further' | 'fast';

/** A pool of workers. `npm run docs` derives its containers, the chart and the tables of the documents from this. */
interface PoolDefinition {
  /** Name on the status page. */
  title: string;
  /** Which tools it has, for the documents. */
  tools: string;
  /** What limits the number of its calls, for the documents. */
  boundBy: string;
  /** Concurrent calls of a worker in each of the lanes `first` and `further`, by the number of its cores. */
  slots: (cores: number) => number;
  /** The same in words, for the documents. */
  slotsText: string;
  /** Number of slots of a lane that do not depend on the load of the machine. Default: all. */
  sureSlots?: number;
  /** Whether it has the lane `fast`. Default: false. */
  fastLane?: boolean;
  /** Default of the tools' `thread`. Default: false. */
  thread?: boolean;
  /** Memory limit in GiB of a child process that runs a job on a caller's file. */
  jobMemory: number;
  /**
   * Whether its tools process content of strangers in large programs, such as Chromium. Its containers then reach nothing but
   * the gateway, so that its tools have no secret fields, quotes and DNS records, and they may create the namespaces in which
   * the programs run.
   */
  confined: boolean;
  container: {
    /** Memory in GiB: limit, and what Kubernetes reserves. */
    memory: { limit: number; request: number };
    /** CPU weight under load, where that of the API is 1024. */
    cpuShares: number;
    /** Maximum number of processes and threads. */
    pids: number;
    /** Variables of `env.ts` that only this pool reads. */
    variables?: readonly string[];
    /** Scaling by KEDA: maximum number of workers, and calls that wait per worker before another is added. */
    scaling: { maxReplicas: number; backlog: number };
  };
  image: {
    /** Debian packages that its image has beside the code. Default: none. */
    install?: {
      packages: readonly string[];
      /** Source package that Debian 12 takes from its backports. */
      backport?: string;
      /** What they are for, in lines of at most 118 characters. */
      comment: readonly string[];
      /** Shell command that follows their installation. */
      command?: string;
    };
    /** Largest size in MB. */
    megabytes: number;
  };
}

const DEFINITIONS = {
  browser: {
    title: 'Browser tools',
    tools: 'tools that use Chromium',
    boundBy: 'cores and memory',
    // A page is idle for about half of the time, so two browsers use one core; three are for the case that one of the two
    // lanes is idle.
    slots: (cores) => Math.ceil(1.5 * Math.min(4, cores)),
    slotsText: '3 for 2 cores, at most 6; a browser of 150 MB for each',
    jobMemory: 1,
    confined: true,
    container: {
      memory: { limit: 4, request: 1 },
      cpuShares: 256,
      pids: 4096,
      variables: ['CHROMIUM_PATH', 'CHROMIUM_UNCONFINED', 'FILTER_LISTS'],
      scaling: { maxReplicas: 4, backlog: 4 },
    },
    image: {
      install: {
        comment: ['Chromium, its sandbox, the filter lists for ads and trackers, and fonts for all scripts.'],
        packages: [
          ...['chromium-headless-shell', 'chromium-sandbox', 'iproute2', 'webext-ublock-origin-chromium'],
          ...['fontconfig', 'fonts-liberation', 'fonts-dejavu-core', 'fonts-noto-core', 'fonts-noto-cjk'],
          'fonts-noto-color-emoji',
        ],
      },
      megabytes: 2600,
    },
  },
  cpu: {
    title: 'Processing tools',
    tools: 'tools that need only a core: hashes, QR codes, watermarks',
    boundBy: 'cores',
    slots: (cores) => cores,
    slotsText: 'number of cores; 4 per core in the lane of fast tools',
    fastLane: true,
    thread: true,
    // The largest images that watermark-image accepts, lossless WebP of 40 megapixels, were measured to need 1.25 GB.
    jobMemory: 2,
    confined: false,
    container: {
      memory: { limit: 4, request: 1 },
      cpuShares: 256,
      pids: 512,
      scaling: { maxReplicas: 6, backlog: 10 },
    },
    image: {
      install: {
        comment: ['Fonts for watermark texts in any script.'],
        packages: ['fontconfig', 'fonts-noto-core', 'fonts-noto-cjk', 'fonts-noto-color-emoji'],
      },
      megabytes: 1850,
    },
  },
  network: {
    title: 'Network tools',
    tools: 'tools that wait for other machines',
    boundBy: 'open connections',
    slots: () => 100,
    slotsText: '100; above 16 only while CPU and memory are below 90 %',
    // Most calls wait for their targets and need little else; but 100 responses of 5 MB at the same time all exceeded their
    // time limits on two cores.
    sureSlots: 16,
    // web-scrape was measured to need 0.4 GB for the largest page.
    jobMemory: 1,
    confined: false,
    container: {
      memory: { limit: 4, request: 0.5 },
      cpuShares: 512,
      pids: 512,
      variables: ['GOLD_FEED_URL', 'FX_FEED_URL'],
      scaling: { maxReplicas: 4, backlog: 50 },
    },
    image: {
      install: {
        comment: [
          'ping for ICMP; without it the ping tool measures TCP handshakes. The program is copied to drop its file capability, with',
          'which it cannot be executed in a container without capabilities. Docker lets every group open ICMP sockets, so ping needs',
          'no capability.',
        ],
        packages: ['iputils-ping'],
        command: 'cp /usr/bin/ping /usr/bin/ping.plain && mv /usr/bin/ping.plain /usr/bin/ping',
      },
      megabytes: 1600,
    },
  },
  heavy: {
    title: 'Large-file tools',
    tools: 'tools that need a core for many seconds: LibreOffice, image enlargement',
    boundBy: 'cores',
    slots: (cores) => Math.max(1, Math.floor(cores / 2)),
    slotsText: 'half the number of cores, at least 1',
    // image-upscale was measured to need 1.4 GB for the largest image.
    jobMemory: 3,
    confined: true,
    container: {
      memory: { limit: 4, request: 1 },
      cpuShares: 256,
      pids: 2048,
      variables: ['SOFFICE_PATH'],
      scaling: { maxReplicas: 4, backlog: 2 },
    },
    image: {
      install: {
        comment: [
          "LibreOffice, its sandbox (bubblewrap), fonts for documents (metric-compatible replacements for Microsoft's fonts, and fonts",
          'for all scripts) and hyphenation patterns. The LibreOffice of Debian 12 itself loses content that later versions show.',
        ],
        packages: [
          ...[
            'libreoffice-writer-nogui',
            'libreoffice-math-nogui',
            'libreoffice-calc-nogui',
            'python3-uno',
            'bubblewrap',
            'fontconfig',
            'fonts-crosextra-carlito',
          ],
          ...['fonts-crosextra-caladea', 'fonts-liberation', 'fonts-dejavu-core', 'fonts-noto-core'],
          ...['fonts-noto-cjk', 'fonts-symbola', 'fonts-urw-base35'],
          ...[
            'hyphen-da',
            'hyphen-de',
            'hyphen-en-gb',
            'hyphen-en-us',
            'hyphen-es',
            'hyphen-fr',
            'hyphen-it',
          ],
          ...[
            'hyphen-nl',
            'hyphen-no',
            'hyphen-pl',
            'hyphen-pt-br',
            'hyphen-pt-pt',
            'hyphen-ru',
            'hyphen-sv',
          ],
        ],
        backport: 'libreoffice',
      },
      megabytes: 2400,
    },
  },
} as const satisfies Record<string, PoolDefinition>;

export type Pool = keyof typeof DEFINITIONS;

/**
 * The pools of workers by name. Each has its own task queues and worker processes and is scaled independently of the
 * others. A new pool is one entry here, then `npm run docs`. Its name is one word in lower case.
 */
export const POOL_TABLE: Readonly<Record<Pool, PoolDefinition>> = DEFINITIONS;

export const isPool = (name: string): name is Pool => Object.hasOwn(DEFINITIONS, name);
export const POOLS: readonly Pool[] = Object.keys(DEFINITIONS).filter(isPool);

/** The pools whose containers reach nothing but the gateway. */
export const CONFINED_POOLS: readonly Pool[] = POOLS.filter((pool) => POOL_TABLE[pool].confined);

export const lanesOf = (pool: Pool): readonly Lane[] =>
  POOL_TABLE[pool].fastLane ? ['first', 'further', 'fast'] : ['first', 'further'];
