/**
 * Which paths ignore files leave out, as ripgrep reads them: for each kind of file the nearest folder decides first, and
 * `.rgignore` stands above `.ignore`, `.gitignore` and `.git/info/exclude`. Nothing above the workspace is read.
 */
import ignore, { type Ignore } from "ignore";
import { type Boundary, openFile } from "../files/boundary.ts";
import { wholeOf } from "../files/text.ts";

const KINDS = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"] as const;
const MAX_BYTES = 1_048_576;

export class IgnoreRules {
  readonly #above: IgnoreRules | undefined;
  /** Relative to the workspace; "" is the workspace itself. */
  readonly #folder: string;
  readonly #rules: readonly (Ignore | undefined)[];

  private constructor(above: IgnoreRules | undefined, folder: string, rules: readonly (Ignore | undefined)[]) {
    this.#above = above;
    this.#folder = folder;
    this.#rules = rules;
  }

  /** The rules inside a folder; `names` are the files it has, so that nothing is opened that is not there. */
  static in(
    boundary: Boundary,
    folder: string,
    names: ReadonlySet<string>,
    above?: IgnoreRules,
  ): IgnoreRules | undefined {
    const rules = KINDS.map((kind) => {
      const there = kind.includes("/") ? folder === "" && names.has(".git") : names.has(kind);
      return there ? rulesOf(boundary, folder === "" ? kind : `${folder}/${kind}`) : undefined;
    });
    return rules.some((rule) => rule) ? new IgnoreRules(above, folder, rules) : above;
  }

  ignores(path: string, isFolder: boolean): boolean {
    for (let kind = 0; kind < KINDS.length; kind++) {
      for (let level: IgnoreRules | undefined = this; level; level = level.#above) {
        const opinion = level.#opinion(kind, path, isFolder);
        if (opinion !== undefined) return opinion;
      }
    }
    return false;
  }

  #opinion(kind: number, path: string, isFolder: boolean): boolean | undefined {
    const rule = this.#rules[kind];
    if (!rule) return undefined;
    const inside = this.#folder === "" ? path : path.slice(this.#folder.length + 1);
    const { ignored, unignored } = rule.test(isFolder ? `${inside}/` : inside);
    if (unignored) return false;
    if (!ignored) return undefined;
    // A folder that is walked although these rules ignore it was let in by stronger ones: they say nothing of its files.
    const slash = inside.lastIndexOf("/");
    return slash > 0 && rule.test(inside.slice(0, slash + 1)).ignored ? undefined : true;
  }
}

function rulesOf(boundary: Boundary, path: string): Ignore | undefined {
  try {
    const bytes = wholeOf(openFile({ ...boundary, hardLinks: "read" }, path), MAX_BYTES);
    return bytes && ignore({ ignorecase: false }).add(bytes.toString("utf8").replace(/^\uFEFF/, ""));
  } catch {
    // A link out of the workspace, a folder of that name, a file nobody may read: no rules.
    return undefined;
  }
}
