/** What is read is quoted by the next edit: under the whole coding preset it reaches the model as it stands in the file. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { agent, createCaveman } from "../../../index.ts";
import { recovery } from "../../../plugins/index.ts";
import { scripted } from "../../../plugins/testing.ts";
import { coding } from "../../../presets/index.ts";

test("a long JSON file is shown as it is spelled, and an edit of what was shown fits", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "caveman-exact-"));
  try {
    const rows = Array.from({ length: 150 }, (_, id) => ({ id, name: `row ${id}`, price: 10 }));
    await writeFile(join(workspace, "prices.json"), `${JSON.stringify(rows, null, 2)}\n`);
    const spelled = '"name": "row 75",\n    "price": 10';
    const model = scripted(({ prompt }, index) => {
      if (index === 0) return { toolCalls: [{ name: "read_file", input: { path: "prices.json" } }] };
      if (index > 1) return { text: "done" };
      const shown = JSON.stringify(prompt.at(-1));
      return {
        text: shown.includes('\\"name\\": \\"row 75\\"') ? "as spelled" : "respelled",
        toolCalls: [
          {
            name: "edit_file",
            input: { path: "prices.json", old_string: spelled, new_string: '"name": "row 75",\n    "price": 12' },
          },
        ],
      };
    });
    const { run } = createCaveman({
      preset: coding({ workspace }),
      plugins: [recovery({ path: join(workspace, "ccr.db") })],
    });
    const { receipt } = await run(agent({ id: "c", instructions: "Edit.", model, sandbox: "host" }), "go");
    expect(receipt.tools.filter(({ errors }) => errors > 0)).toEqual([]);
    expect(receipt.compression).toBeUndefined();
    expect(JSON.parse(await readFile(join(workspace, "prices.json"), "utf8"))[75].price).toBe(12);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
});
