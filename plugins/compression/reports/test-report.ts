/** Test reports: JUnit XML, and the terminal output of the common runners. */
import type { Compressor } from "../compressor.ts";
import { shorterJUnit } from "./junit.ts";
import { shorterTestOutput } from "./test-output.ts";

export const testReport: Compressor = {
  type: "test-report",
  keeps: "Failures with their whole messages, skipped tests, warnings and summaries; passing tests are counted.",
  compress: (input, { query }) =>
    /^\s*<(?:\?xml|testsuites?\b)/.test(input) ? shorterJUnit(input, query) : shorterTestOutput(input, query),
};
