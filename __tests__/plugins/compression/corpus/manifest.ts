/** Every input of the corpus, with what must stay visible of it and what must be recoverable. */
import { documents } from "./documents.ts";
import type { CorpusInput } from "./input.ts";
import { json } from "./json.ts";
import { logs } from "./logs.ts";
import { markup } from "./markup.ts";
import { reports } from "./reports.ts";
import { sources } from "./sources.ts";
import { tables } from "./tables.ts";
import { terminals } from "./terminals.ts";
import { tools } from "./tools.ts";

export const corpus = (): CorpusInput[] => [
  ...json(),
  ...logs(),
  ...terminals(),
  ...tables(),
  ...markup(),
  ...sources(),
  ...reports(),
  ...documents(),
  ...tools(),
];
