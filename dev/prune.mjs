import { readdirSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Target triples of the Rust compiler that @temporalio/core-bridge supports, by Node's name of the platform. */
const TARGETS = { darwin: 'apple-darwin', linux: 'unknown-linux-gnu', win32: 'pc-windows-msvc' };
/** Names of processors in these triples, by Node's name of the architecture. */
const PROCESSORS = { arm64: 'aarch64', x64: 'x86_64' };
/** Packages in the workflow bundle. The bundler reads their source maps, so that failures of workflows name lines. */
const BUNDLED = ['@temporalio', 'nexus-rpc', 'long'];

/** Returns the entries of a folder, or none if it does not exist. */
function entries(...path) {
  try {
    return readdirSync(join(...path));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Returns the files and folders of node_modules that no process of this project reads: programs for other systems in
 * packages that contain them for all systems, C++ headers of Node.js, and source maps.
 *
 * @param {string} modules path of node_modules
 * @param {{ platform: NodeJS.Platform, arch: NodeJS.Architecture }} system the system whose programs stay
 * @returns {string[]} absolute paths
 */
export function unusedFiles(modules, { platform, arch }) {
  const onnx = join(modules, 'onnxruntime-node/bin');
  const temporal = join(modules, '@temporalio/core-bridge/releases');
  const node = join(modules, 'node/node_modules');
  const maps = readdirSync(modules, { recursive: true, encoding: 'utf8', withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.map'),
  );
  return [
    ...entries(onnx).flatMap((api) =>
      entries(onnx, api).flatMap((system) =>
        entries(onnx, api, system)
          .filter((processor) => system !== platform || processor !== arch)
          .map((processor) => join(onnx, api, system, processor)),
      ),
    ),
    ...entries(temporal)
      .filter((target) => target !== `${PROCESSORS[arch]}-${TARGETS[platform]}`)
      .map((target) => join(temporal, target)),
    ...entries(node)
      .filter((name) => name.startsWith('node-'))
      .map((name) => join(node, name, 'include')),
    ...maps
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .filter((path) => !BUNDLED.some((name) => path.startsWith(join(modules, name) + sep))),
  ];
}

/** Run by npm after each installation, to which the unused files add 500 MB. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
  for (const path of unusedFiles(modules, process)) rmSync(path, { recursive: true, force: true });
}
