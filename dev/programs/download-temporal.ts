// A separate program, because the only way to cancel a download that hangs is to kill its process.
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
