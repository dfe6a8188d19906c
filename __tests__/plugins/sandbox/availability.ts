/** Whether this machine can contain tools. A test that is skipped says why; a fault that is not the machine's is no reason. */
import { probeSandbox } from "../../../plugins/sandbox/index.ts";

const { checks } = await probeSandbox();
const [first] = checks;
export const available = checks.length > 1;
if (!available) {
  if (!first?.outcome.startsWith("cave_sandbox_os_network_isolation_unavailable")) throw new Error(first?.outcome);
  process.stdout.write(`skipped, for there is no boundary here: ${first.outcome}\n`);
}
