/** What the tools ask of a file worker, and what it answers. Plain data: it crosses a thread. */
import type { HardLinks } from "./boundary.ts";
import type { FaultCode } from "./fault.ts";

/** What a file was when it was last read: its path in the workspace and its SHA-256. */
export interface Stamp {
  readonly rel: string;
  readonly digest: string;
}

export interface ReadRequest {
  readonly kind: "read";
  readonly path: string;
  /** First line, from 1. */
  readonly offset?: number;
  readonly limit?: number;
  readonly capBytes: number;
}
export interface ReadAnswer {
  readonly text: string;
  readonly stamp?: Stamp;
}

/** Digests by path in the workspace, of what the model has read. */
export type Seen = Readonly<Record<string, string>>;

export interface WriteRequest {
  readonly kind: "write";
  readonly path: string;
  readonly content: string;
  readonly seen: Seen;
}
export interface EditRequest {
  readonly kind: "edit";
  readonly path: string;
  readonly oldString: string;
  readonly newString: string;
  readonly replaceAll: boolean;
  readonly seen: Seen;
}
export interface ChangeAnswer {
  readonly summary: string;
  readonly diff: string;
  readonly stamp: Stamp;
}

export interface FilesRequest {
  readonly kind: "files";
  readonly path: string;
  readonly glob?: string;
  readonly limit: number;
  /** Only what `grep` would read: no large files, none with other names. */
  readonly searchable: boolean;
}
export interface FilesAnswer {
  /** Relative to the workspace, in byte order of their names, folder by folder. */
  readonly files: readonly string[];
  readonly more: boolean;
  readonly notes: readonly string[];
}

export interface GrepRequest {
  readonly kind: "grep";
  readonly path: string;
  readonly glob?: string;
  /** A JavaScript pattern, from `parsePattern`. */
  readonly source: string;
  readonly flags: string;
  readonly limit: number;
}
export interface Match {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}
export interface GrepAnswer {
  readonly matches: readonly Match[];
  readonly more: boolean;
  readonly notes: readonly string[];
}

/** The texts of lines that ripgrep named. */
export interface LinesRequest {
  readonly kind: "lines";
  readonly hits: readonly { readonly file: string; readonly lines: readonly number[] }[];
  readonly limit: number;
}

export type FileRequest = ReadRequest | WriteRequest | EditRequest | FilesRequest | GrepRequest | LinesRequest;
export interface Answers {
  read: ReadAnswer;
  write: ChangeAnswer;
  edit: ChangeAnswer;
  files: FilesAnswer;
  grep: GrepAnswer;
  lines: GrepAnswer;
}

export interface WorkerTask {
  readonly root: string;
  readonly hardLinks: HardLinks;
  /** Epoch milliseconds by which a search gives up. */
  readonly deadline: number;
  readonly request: FileRequest;
}
export type WorkerReply =
  | { readonly ok: true; readonly answer: Answers[keyof Answers] }
  | { readonly ok: false; readonly code: FaultCode; readonly message: string };
