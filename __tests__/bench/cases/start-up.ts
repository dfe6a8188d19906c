import { type Case, notMeasured, type Row } from "../case.ts";
import { command, processMs } from "../measure.ts";
import { median } from "../median.ts";

const timed = (specifier: string): string =>
  `const t = performance.now(); await import(${JSON.stringify(specifier)}); process.stdout.write(String(performance.now() - t));`;

/** The import of the package as published, each time in a new process, and the command line's first answer. */
export default {
  order: 4,
  async rows({ root, builds }) {
    const load = { id: "start-up.import", what: "import of the package, as published", unit: "ms", bar: 80 } as const;
    const help = { id: "start-up.help", what: "caveman --help, the whole process", unit: "ms", bar: 150 } as const;
    const node = { id: "start-up.node", what: "node that does nothing, the whole process", unit: "ms" } as const;
    if (!builds.includes("dist"))
      return [load, help].map((row) => notMeasured(row, "there is no dist/: npm run build"));
    const imports: number[] = [];
    for (let time = -1; time < 7; time++) {
      // The package's own name leads to dist/ when no condition says otherwise.
      const ms = Number(await command(process.execPath, ["--input-type=module", "-e", timed("caveman-agent")], root));
      if (time >= 0) imports.push(ms);
    }
    const rows: Row[] = [
      { ...load, value: median(imports) },
      { ...help, value: await processMs(["dist/cli/main.js", "--help"], root) },
      { ...node, value: await processMs(["-e", "0"], root) },
    ];
    return rows;
  },
} satisfies Case;
