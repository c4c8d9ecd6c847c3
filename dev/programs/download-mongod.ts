// A separate program, because the only way to cancel a download that hangs is to kill its process.
import { DryMongoBinary, MongoBinary } from 'mongodb-memory-server-core';

const [downloadDir = ''] = process.argv.slice(2);
try {
  const options = await DryMongoBinary.generateOptions({ downloadDir });
  console.log(await MongoBinary.download({ ...options, checkMD5: true }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
