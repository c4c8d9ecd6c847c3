// The download runs as a separate program, because a download that hangs can be cancelled only by killing its process.
import { DryMongoBinary, MongoBinary } from 'mongodb-memory-server-core';

const [downloadDir = ''] = process.argv.slice(2);
try {
  const options = await DryMongoBinary.generateOptions({ downloadDir });
  console.log(await MongoBinary.download({ ...options, checkMD5: true }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
