/** Source files in the languages whose bodies can be left out, and some that cannot be read. */
import { Chance, ENTITIES, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

/** One function of a language for an entity and a verb. */
type Template = (entity: string, verb: string, c: Chance) => string;

/** Functions from templates, all of different names. */
function functions(c: Chance, count: number, templates: readonly Template[]): string[] {
  const used = new Set<string>();
  const out: string[] = [];
  while (out.length < count) {
    const [entity, verb] = [c.of(ENTITIES), c.of(VERBS)];
    if (used.has(entity + verb)) continue;
    used.add(entity + verb);
    out.push(c.of(templates)(entity, verb, c));
  }
  return out;
}
const low = (name: string): string => name.toLowerCase();
const cap = (name: string): string => (name[0] ?? "").toUpperCase() + name.slice(1);

function typescript(): CorpusInput {
  const c = new Chance(81);
  const templates: Template[] = [
    (e, v) => `/** ${cap(v)}s one ${low(e)}; refuses when the ${low(e)} is locked. */
  async ${v}${e}(id: ${e}Id, options: ${e}Options = {}): Promise<${e}> {
    const found = await this.#store.find(id);
    if (!found) throw new NotFound("${low(e)}", id);
    if (found.locked && !options.force) {
      this.#log.warn({ id, reason: "locked" }, "${low(e)} not changed");
      return found;
    }
    const changed = { ...found, ${v}dAt: this.#clock.now(), revision: found.revision + 1 };
    await this.#store.save(changed, { expect: found.revision });
    this.#events.emit("${low(e)}.${v}d", { id, revision: changed.revision });
    return changed;
  }`,
    (e, v) => `${v}${e}Batch(list: readonly ${e}[], limit = ${c.whole(10, 200)}): Map<string, ${e}[]> {
    const groups = new Map<string, ${e}[]>();
    for (const item of list) {
      const key = item.region ?? "none";
      const group = groups.get(key);
      if (group && group.length >= limit) continue;
      if (group) group.push(item);
      else groups.set(key, [item]);
    }
    for (const [key, group] of groups) {
      group.sort((a, b) => a.priority - b.priority || a.id.localeCompare(b.id));
      this.#log.debug({ key, size: group.length }, "${v} batch");
    }
    return groups;
  }`,
  ];
  const methods = functions(c, 26, templates);
  const text = `import { EventEmitter } from "node:events";
import type { Clock, Logger, Store } from "./ports.ts";
import { NotFound } from "./errors.ts";

export type OrderId = string & { readonly brand: "order" };
export interface ShopOptions {
  /** Milliseconds after which a held basket is released. */
  readonly holdMs: number;
  readonly region?: string;
}

/** Everything the shop can do with its records. */
export class Shop {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #events = new EventEmitter();

  constructor(store: Store, clock: Clock, log: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  ${methods.join("\n\n  ")}
}
`;
  return {
    name: "shop.ts",
    type: "code",
    compressible: true,
    text,
    visible: [
      'import type { Clock, Logger, Store } from "./ports.ts";',
      "readonly holdMs: number;",
      "export class Shop {",
      /async \w+\(id: \w+Id, options: \w+Options = \{\}\): Promise<\w+> \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["throw new NotFound(", "group.sort((a, b)"],
  };
}

function javascript(): CorpusInput {
  const c = new Chance(82);
  const fns = functions(c, 24, [
    (e, v) => `/**
 * ${cap(v)} a ${low(e)} and answer with what changed.
 * @param {string} id
 */
async function ${v}${e}(id, body) {
  const current = await db.get("${low(e)}", id);
  if (current === undefined) {
    const error = new Error("no such ${low(e)}: " + id);
    error.status = 404;
    throw error;
  }
  const next = Object.assign({}, current, pick(body, FIELDS.${low(e)}));
  const changes = Object.keys(next).filter((key) => next[key] !== current[key]);
  if (changes.length > 0) await db.put("${low(e)}", id, next);
  return { id, changes };
}`,
    (e, v) => `const ${v}${e}Rows = (rows) => {
  const totals = {};
  for (const row of rows) {
    const bucket = totals[row.city] || (totals[row.city] = { count: 0, sum: 0 });
    bucket.count += 1;
    bucket.sum += Number(row.amount) || 0;
  }
  return Object.entries(totals)
    .map(([city, { count, sum }]) => ({ city, count, mean: sum / count }))
    .sort((a, b) => b.mean - a.mean);
};`,
  ]);
  return {
    name: "routes.js",
    type: "code",
    compressible: true,
    query: "reconcile carrier",
    text: `"use strict";\nconst express = require("express");\nconst { db, pick, FIELDS } = require("./db");\n\nconst router = express.Router();\n\n${fns.join("\n\n")}\n\nmodule.exports = { router };\n`,
    visible: [
      'const express = require("express");',
      "module.exports = { router };",
      "@param {string} id",
      /async function \w+\(id, body\) \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["error.status = 404;"],
  };
}

function tsx(): CorpusInput {
  const c = new Chance(83);
  const parts = functions(c, 14, [
    (e, v) => `export function ${cap(v)}${e}Panel({ ${low(e)}, onDone }: ${e}Props): JSX.Element {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = useCallback(async () => {
    setBusy(true);
    try {
      await api.${v}(${low(e)}.id);
      onDone(${low(e)});
    } catch (error) {
      setProblem(String(error));
    } finally {
      setBusy(false);
    }
  }, [${low(e)}, onDone]);
  return (
    <section className="panel panel--${low(e)}">
      <h2>{${low(e)}.title}</h2>
      {problem ? <p role="alert">{problem}</p> : null}
      <button type="button" disabled={busy} onClick={submit}>${cap(v)}</button>
    </section>
  );
}`,
  ]);
  return {
    name: "panels.tsx",
    type: "code",
    compressible: true,
    text: `import { useCallback, useState } from "react";\nimport { api } from "../api.ts";\n\nexport interface OrderProps {\n  readonly order: Order;\n  readonly onDone: (order: Order) => void;\n}\n\n${parts.join("\n\n")}\n`,
    visible: [
      'import { useCallback, useState } from "react";',
      "readonly onDone: (order: Order) => void;",
      /export function \w+Panel\(\{ \w+, onDone \}: \w+Props\): JSX\.Element \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["setProblem(String(error));"],
  };
}

function python(): CorpusInput {
  const c = new Chance(84);
  const methods = functions(c, 26, [
    (e, v) => `    def ${v}_${low(e)}(self, ${low(e)}_id: str, *, force: bool = False) -> ${e}:
        """${cap(v)} one ${low(e)}.

        Raises LookupError when there is none.
        """
        found = self._store.get(${low(e)}_id)
        if found is None:
            raise LookupError(f"no ${low(e)} {${low(e)}_id}")
        if found.locked and not force:
            logger.warning("${low(e)} %s is locked", ${low(e)}_id)
            return found
        changed = replace(found, revision=found.revision + 1, touched=self._clock())
        with self._store.transaction() as tx:
            tx.put(${low(e)}_id, changed)
            tx.append("${low(e)}.${v}d", changed.revision)
        return changed`,
    (e, v) => `    def _${v}_${low(e)}_rows(self, rows: Iterable[dict]) -> dict[str, Decimal]:
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for row in rows:
            if row.get("state") not in OPEN_STATES:
                continue
            amount = Decimal(str(row["amount"]))
            totals[row["city"]] += amount
            if amount > self.ceiling:
                self._flag(row["id"], "above ceiling")
        return {city: total.quantize(CENT) for city, total in totals.items()}`,
  ]);
  return {
    name: "ledger.py",
    type: "code",
    compressible: true,
    text: `"""Bookings and what becomes of them."""\nfrom __future__ import annotations\n\nimport logging\nfrom collections import defaultdict\nfrom dataclasses import replace\nfrom decimal import Decimal\nfrom typing import Iterable\n\nlogger = logging.getLogger(__name__)\nCENT = Decimal("0.01")\nOPEN_STATES = {"booked", "held"}\n\n\nclass Ledger:\n    """Keeps every booking twice."""\n\n    ceiling: Decimal = Decimal("50000")\n\n    def __init__(self, store, clock) -> None:\n        self._store = store\n        self._clock = clock\n\n${methods.join("\n\n")}\n`,
    visible: [
      "from decimal import Decimal",
      'OPEN_STATES = {"booked", "held"}',
      "class Ledger:",
      "Raises LookupError when there is none.",
      /def \w+\(self, \w+: str, \*, force: bool = False\) -> \w+:/,
      /\.\.\. {2}# caveman: \d+ lines elided/,
    ],
    recoverable: ["with self._store.transaction() as tx:", 'self._flag(row["id"], "above ceiling")'],
  };
}

function go(): CorpusInput {
  const c = new Chance(85);
  const fns = functions(c, 24, [
    (e, v) => `// ${cap(v)}${e} changes one ${low(e)} and tells the others.
func (s *Service) ${cap(v)}${e}(ctx context.Context, id string) (*${e}, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	found, err := s.load${e}(ctx, tx, id)
	if err != nil {
		return nil, fmt.Errorf("load ${low(e)} %s: %w", id, err)
	}
	found.Revision++
	if err := s.save(ctx, tx, found); err != nil {
		return nil, err
	}
	s.events <- Event{Kind: "${low(e)}.${v}d", ID: id}
	return found, tx.Commit()
}`,
    (e, v) => `func ${v}${e}ByCity(list []${e}) map[string][]${e} {
	out := make(map[string][]${e}, len(list))
	for _, item := range list {
		if item.City == "" {
			continue
		}
		out[item.City] = append(out[item.City], item)
	}
	for city := range out {
		sort.Slice(out[city], func(i, j int) bool { return out[city][i].ID < out[city][j].ID })
	}
	return out
}`,
  ]);
  return {
    name: "service.go",
    type: "code",
    compressible: true,
    text: `package shop\n\nimport (\n\t"context"\n\t"database/sql"\n\t"fmt"\n\t"sort"\n)\n\n// Service holds what every handler needs.\ntype Service struct {\n\tdb     *sql.DB\n\tevents chan<- Event\n}\n\ntype Event struct {\n\tKind string\n\tID   string\n}\n\n${fns.join("\n\n")}\n`,
    visible: [
      "package shop",
      '"database/sql"',
      "type Service struct {",
      "events chan<- Event",
      /func \(s \*Service\) \w+\(ctx context\.Context, id string\) \(\*\w+, error\) \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["defer tx.Rollback()", "sort.Slice(out[city]"],
  };
}

function rust(): CorpusInput {
  const c = new Chance(86);
  const fns = functions(c, 24, [
    (e, v) => `    /// ${cap(v)}s the ${low(e)} behind \`id\`.
    pub async fn ${v}_${low(e)}(&mut self, id: ${e}Id) -> Result<${e}, ShopError> {
        let mut found = self.store.get(&id).await?.ok_or(ShopError::Missing(id.to_string()))?;
        if found.locked {
            tracing::warn!(%id, "${low(e)} is locked");
            return Err(ShopError::Locked { id: id.to_string() });
        }
        found.revision += 1;
        self.store.put(&id, &found).await?;
        match self.outbox.send(Event::new("${low(e)}.${v}d", found.revision)) {
            Ok(()) => Ok(found),
            Err(lost) => Err(ShopError::Outbox(lost.to_string())),
        }
    }`,
    (e, v) => `    fn ${v}_${low(e)}_totals(&self, rows: &[${e}]) -> BTreeMap<String, u64> {
        let mut totals = BTreeMap::new();
        for row in rows.iter().filter(|row| row.open) {
            let entry = totals.entry(row.city.clone()).or_insert(0u64);
            *entry = entry.saturating_add(row.cents);
            if *entry > self.ceiling {
                tracing::info!(city = %row.city, "above the ceiling");
            }
        }
        totals
    }`,
  ]);
  return {
    name: "shop.rs",
    type: "code",
    compressible: true,
    text: `//! The shop's rules.\nuse std::collections::BTreeMap;\n\nuse crate::store::{Event, Store};\n\n#[derive(Debug, thiserror::Error)]\npub enum ShopError {\n    #[error("no record {0}")]\n    Missing(String),\n    #[error("{id} is locked")]\n    Locked { id: String },\n    #[error("outbox: {0}")]\n    Outbox(String),\n}\n\npub struct Shop<S: Store> {\n    store: S,\n    ceiling: u64,\n}\n\nimpl<S: Store> Shop<S> {\n${fns.join("\n\n")}\n}\n`,
    visible: [
      "pub enum ShopError {",
      "Locked { id: String },",
      "impl<S: Store> Shop<S> {",
      /pub async fn \w+\(&mut self, id: \w+\) -> Result<\w+, ShopError> \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["entry.saturating_add(row.cents)"],
  };
}

function java(): CorpusInput {
  const c = new Chance(87);
  const fns = functions(c, 24, [
    (e, v) => `    /**
     * ${cap(v)}s one ${low(e)}.
     */
    @Transactional
    public ${e} ${v}${e}(String id, boolean force) throws ShopException {
        ${e} found = ${low(e)}s.findById(id).orElseThrow(() -> new ShopException("no ${low(e)} " + id));
        if (found.isLocked() && !force) {
            log.warn("{} is locked", id);
            return found;
        }
        found.setRevision(found.getRevision() + 1);
        found.setChangedAt(clock.instant());
        ${e} saved = ${low(e)}s.save(found);
        publisher.publishEvent(new ${e}Changed(saved.getId(), saved.getRevision()));
        return saved;
    }`,
    (e, v) => `    private Map<String, BigDecimal> ${v}${e}Totals(List<${e}> rows) {
        Map<String, BigDecimal> totals = new TreeMap<>();
        for (${e} row : rows) {
            if (row.getAmount() == null) {
                continue;
            }
            totals.merge(row.getCity(), row.getAmount(), BigDecimal::add);
        }
        totals.replaceAll((city, sum) -> sum.setScale(2, RoundingMode.HALF_EVEN));
        return totals;
    }`,
  ]);
  return {
    name: "ShopService.java",
    type: "code",
    compressible: true,
    text: `package com.acme.shop;\n\nimport java.math.BigDecimal;\nimport java.math.RoundingMode;\nimport java.util.List;\nimport java.util.Map;\nimport java.util.TreeMap;\n\n/** The rules of the shop. */\n@Service\npublic class ShopService {\n    private static final int MAX_LINES = 200;\n    private final Clock clock;\n\n    public ShopService(Clock clock) {\n        this.clock = clock;\n    }\n\n${fns.join("\n\n")}\n}\n`,
    visible: [
      "package com.acme.shop;",
      "import java.util.TreeMap;",
      "private static final int MAX_LINES = 200;",
      "@Transactional",
      /public \w+ \w+\(String id, boolean force\) throws ShopException \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["publisher.publishEvent("],
  };
}

function cLanguage(): CorpusInput {
  const c = new Chance(88);
  const fns = functions(c, 24, [
    (e, v) => `/* ${cap(v)} the ${low(e)} at a place of the table. */
int ${v}_${low(e)}(struct table *table, size_t place, const char *reason)
{
	struct record *record;

	if (table == NULL || place >= table->count)
		return -EINVAL;
	record = &table->records[place];
	if (record->flags & RECORD_LOCKED) {
		fprintf(stderr, "%s: ${low(e)} %zu is locked\\n", reason, place);
		return -EBUSY;
	}
	record->revision++;
	record->touched = time(NULL);
	if (journal_append(table->journal, record) != 0)
		return -EIO;
	return 0;
}`,
    (e, v) => `static uint64_t ${v}_${low(e)}_sum(const struct record *records, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (records[i].flags & RECORD_VOID)
			continue;
		if (UINT64_MAX - sum < records[i].cents)
			return UINT64_MAX;
		sum += records[i].cents;
	}
	return sum;
}`,
  ]);
  return {
    name: "table.c",
    type: "code",
    compressible: true,
    text: `#include <errno.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <time.h>\n#include "journal.h"\n\n#define RECORD_LOCKED (1u << 0)\n#define RECORD_VOID   (1u << 1)\n\nstruct record {\n\tuint64_t cents;\n\tuint32_t flags;\n\tuint32_t revision;\n\ttime_t touched;\n};\n\n${fns.join("\n\n")}\n`,
    visible: [
      '#include "journal.h"',
      "#define RECORD_LOCKED (1u << 0)",
      "uint32_t revision;",
      /int \w+\(struct table \*table, size_t place, const char \*reason\)\s*\{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["return -EBUSY;"],
  };
}

function cpp(): CorpusInput {
  const c = new Chance(89);
  const fns = functions(c, 24, [
    (e, v) => `/// ${cap(v)}s one ${low(e)}.
Result<${e}> Shop::${v}${e}(const Id& id, Options options) {
  std::unique_lock lock{mutex_};
  auto found = records_.find(id);
  if (found == records_.end()) {
    return Error{Code::kMissing, "no ${low(e)} " + id.str()};
  }
  auto& record = found->second;
  if (record.locked && !options.force) {
    log_->warn("{} is locked", id.str());
    return Error{Code::kLocked, id.str()};
  }
  ++record.revision;
  listeners_.notify("${low(e)}.${v}d", record.revision);
  return std::get<${e}>(record.value);
}`,
    (e, v) => `std::map<std::string, std::int64_t> Shop::${v}${e}Totals(std::span<const ${e}> rows) const {
  std::map<std::string, std::int64_t> totals;
  for (const auto& row : rows) {
    if (!row.open) continue;
    totals[row.city] += row.cents;
  }
  for (auto& [city, cents] : totals) {
    cents = std::min(cents, ceiling_);
    log_->debug("{} {}", city, cents);
  }
  return totals;
}`,
  ]);
  return {
    name: "shop.cpp",
    type: "code",
    compressible: true,
    text: `#include <algorithm>\n#include <map>\n#include <mutex>\n#include <span>\n#include <string>\n\n#include "shop.hpp"\n\nnamespace acme::shop {\n\nconstexpr std::int64_t kCeiling = 5'000'000;\n\n${fns.join("\n\n")}\n\n}  // namespace acme::shop\n`,
    visible: [
      '#include "shop.hpp"',
      "namespace acme::shop {",
      "kCeiling = 5'000'000",
      /Result<\w+> Shop::\w+\(const Id& id, Options options\) \{ \/\* caveman: \d+ lines elided \*\/ \}/,
    ],
    recoverable: ["std::unique_lock lock{mutex_};"],
  };
}

function declarations(): CorpusInput {
  const c = new Chance(90);
  const types = times(
    60,
    (i) =>
      `export interface ${c.of(ENTITIES)}${i} {\n${times(c.whole(2, 5), () => `  readonly ${c.words(1)}${c.whole(1, 99)}: ${c.of(["string", "number", "boolean", "readonly string[]"])};`).join("\n")}\n}`,
  );
  return {
    name: "types.d.ts",
    type: "code",
    compressible: false,
    why: "declarations without bodies",
    text: `${types.join("\n\n")}\n`,
    visible: [types[30] as string],
    recoverable: [],
  };
}

function broken(): CorpusInput {
  const c = new Chance(91);
  const out = times(
    50,
    () =>
      `def ${c.of(VERBS)}_${c.of(SERVICES)}(self:\n    if x = ${c.whole(1, 9)} {\n        return ((${c.words(1)}\n    else\n`,
  );
  return {
    name: "broken.py",
    type: "code",
    compressible: false,
    why: "does not parse",
    text: `import os\n${out.join("\n")}`,
    visible: ["import os"],
    recoverable: [out[20] as string],
  };
}

export const sources = (): CorpusInput[] => [
  typescript(),
  javascript(),
  tsx(),
  python(),
  go(),
  rust(),
  java(),
  cLanguage(),
  cpp(),
  declarations(),
  broken(),
];
