// The download runs as a separate program, because a download that hangs can be cancelled only by killing its process.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [downloadDir = ''] = process.argv.slice(2);
try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download', downloadDir } },
  });
  await environment.teardown();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
