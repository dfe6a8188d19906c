/** A real terminal: one pane of a tmux server of its own. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./caveman.ts";

const run = promisify(execFile);

/** Why there is no terminal to test on; undefined when there is one. */
export const noTmux: string | undefined = (() => {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "tmux is not installed";
  }
})();

export class Pane {
  readonly #socket: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#socket = join(folder, "tmux");
  }

  /** Runs `caveman` with these arguments; after it ends, `EXIT=<code>` stands on the screen. */
  static async open(args: readonly string[], { columns = 100, rows = 50 } = {}): Promise<Pane> {
    const pane = new Pane(await mkdtemp(join(tmpdir(), "caveman-tmux-")));
    const words = [
      join(ROOT, "node_modules/node/bin/node"),
      "--conditions=caveman-source",
      join(ROOT, "cli/main.ts"),
      ...args,
    ];
    const command = `env -i PATH="$PATH" HOME=${pane.#folder} TERM="$TERM" TMPDIR=${pane.#folder} LANG=C.UTF-8 ${words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")}; echo EXIT=$?; exec sleep 600`;
    await writeFile(
      join(pane.#folder, "conf"),
      "set -g set-clipboard on\nset -g default-terminal screen-256color\nset -g allow-rename on\n",
    );
    await pane.#tmux(
      "-f",
      join(pane.#folder, "conf"),
      "new-session",
      "-d",
      "-x",
      String(columns),
      "-y",
      String(rows),
      "sleep 600",
    );
    await pane.#tmux("pipe-pane", "-O", `cat > ${join(pane.#folder, "raw")}`);
    await pane.#tmux("respawn-pane", "-k", command);
    return pane;
  }

  async #tmux(...args: string[]): Promise<string> {
    return (await run("tmux", ["-S", this.#socket, ...args], { env: { ...process.env, TMUX: "", LANG: "C.UTF-8" } }))
      .stdout;
  }
  async type(text: string): Promise<void> {
    await this.#tmux("send-keys", "-l", text);
  }
  async press(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }
  async send(line: string): Promise<void> {
    await this.type(line);
    await this.press("Enter");
  }
  /** A bracketed paste. */
  async paste(text: string): Promise<void> {
    await this.#tmux("set-buffer", "-b", "test", text);
    await this.#tmux("paste-buffer", "-p", "-d", "-b", "test");
  }
  /** What stands on the screen and above it, wrapped lines joined. */
  async screen(): Promise<string> {
    return this.#tmux("capture-pane", "-p", "-J", "-S", "-500");
  }
  /** The rows as they stand. */
  async visible(): Promise<string[]> {
    return (await this.#tmux("capture-pane", "-p")).trimEnd().split("\n");
  }
  async colours(): Promise<string> {
    return this.#tmux("capture-pane", "-p", "-e", "-S", "-500");
  }
  async title(): Promise<string> {
    return (await this.#tmux("display-message", "-p", "#{pane_title}")).trim();
  }
  async buffers(): Promise<string> {
    return this.#tmux("list-buffers");
  }
  /** Every byte the program wrote. */
  async raw(): Promise<string> {
    return readFile(join(this.#folder, "raw"), "utf8");
  }
  /** Waits until the screen shows it, then gives the screen. */
  async until(what: RegExp, ms = 30_000): Promise<string> {
    const deadline = Date.now() + ms;
    for (;;) {
      const screen = await this.screen();
      if (what.test(screen)) return screen;
      if (Date.now() > deadline) throw new Error(`${what} did not come; the screen shows:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tmux("kill-server").catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
