/** JSON of every shape: answers of services, maps of records, lines, metrics, audits, and what no one can shorten. */
import { Chance, CITIES, ENTITIES, lines, moment, PACKAGES, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

function orders(): CorpusInput {
  const c = new Chance(11);
  const records = times(500, (i) => {
    const failed = i === 137 || i === 402;
    return {
      id: `ord_${(48210 + i).toString()}`,
      status: failed ? "payment_failed" : c.of(["paid", "paid", "paid", "shipped", "shipped", "delivered"]),
      customer: { name: c.person(), city: c.of(CITIES) },
      total: i === 288 ? 98450.75 : Math.round(c.about(120, 80) * 100) / 100,
      currency: "EUR",
      created_at: moment(i * 61_000),
      ...(failed
        ? {
            error: {
              code: i === 137 ? "card_declined" : "issuer_unavailable",
              message:
                i === 137
                  ? "The issuer declined the charge: insufficient funds"
                  : "Issuer did not answer within 8000 ms",
            },
          }
        : {}),
    };
  });
  return {
    name: "api-orders.json",
    type: "json",
    compressible: true,
    text: JSON.stringify({ object: "list", total: 500, has_more: false, data: records }, null, 2),
    visible: [
      "card_declined",
      "The issuer declined the charge: insufficient funds",
      "issuer_unavailable",
      "ord_48347",
      "ord_48612",
      "98450.75",
      /"total": ?500/,
    ],
    recoverable: ["ord_48400", "ord_48555", moment(300 * 61_000)],
  };
}

function metrics(): CorpusInput {
  const c = new Chance(12);
  const points = times(600, (i) => ({
    t: 1777874400 + i * 15,
    p50: Math.round(c.about(i < 380 ? 42 : 118, 6)),
    p99: Math.round(c.about(i < 380 ? 190 : 640, 40)),
    rps: Math.round(c.about(850, 60)),
    errors: i === 381 ? 57 : 0,
  }));
  return {
    name: "metrics-change-point.min.json",
    type: "json",
    compressible: true,
    text: JSON.stringify({ service: "checkout", interval_s: 15, points }),
    visible: ["checkout", `${1777874400 + 381 * 15}`, /"errors":57/],
    recoverable: [JSON.stringify(points[200]), JSON.stringify(points[590])],
  };
}

function objectMap(): CorpusInput {
  const c = new Chance(13);
  const hosts = Object.fromEntries(
    times(180, (i) => [
      `node-${String(i + 1).padStart(3, "0")}.fra`,
      {
        state: i === 77 ? "draining" : "ready",
        cpu: i === 142 ? 99.4 : Math.round(c.about(38, 20) * 10) / 10,
        memory_mb: c.of([16384, 16384, 32768]),
        zone: c.of(["fra-a", "fra-b", "fra-c"]),
        kernel: "6.8.0-41",
        pods: c.whole(8, 30),
      },
    ]),
  );
  return {
    name: "hosts-map.json",
    type: "json",
    compressible: true,
    text: JSON.stringify({ hosts }, null, 2),
    visible: ["node-078.fra", "draining", "node-143.fra", "99.4", "node-001.fra"],
    recoverable: ["node-050.fra", "node-100.fra", "node-180.fra"],
  };
}

function eventLines(): CorpusInput {
  const c = new Chance(14);
  const out = times(420, (i) =>
    JSON.stringify({
      ts: moment(i * 900 + c.whole(0, 300)),
      level: i === 233 ? "error" : "info",
      service: c.of(SERVICES),
      event: i === 233 ? "ledger.mismatch" : c.of(["http.request", "http.request", "cache.hit", "job.done"]),
      duration_ms: Math.round(c.about(30, 22)),
      trace: c.hex(16),
      ...(i === 233
        ? { message: "balance differs by 12.40 EUR for account 7781", expected: 1090.1, actual: 1077.7 }
        : {}),
    }),
  );
  return {
    name: "events.ndjson",
    type: "json",
    compressible: true,
    text: lines(out),
    visible: ["ledger.mismatch", "balance differs by 12.40 EUR for account 7781", "1077.7"],
    recoverable: [out[100] as string, out[300] as string],
  };
}

function pullRequests(): CorpusInput {
  const c = new Chance(15);
  const list = times(60, (i) => ({
    number: 2310 + i,
    state: c.of(["open", "closed", "closed"]),
    title: `${c.of(VERBS)} ${c.words(4)}`,
    draft: i === 31,
    mergeable_state: i === 44 ? "dirty" : "clean",
    user: {
      login: `${c.of(CITIES).toLowerCase()}-dev`,
      id: c.whole(1000, 9999),
      type: "User",
      site_admin: false,
      avatar_url: `https://avatars.example/u/${c.whole(1000, 9999)}?v=4`,
      html_url: `https://git.example/${c.of(CITIES).toLowerCase()}-dev`,
    },
    labels: times(c.whole(0, 2), () => ({
      id: c.whole(100000, 999999),
      name: c.of(["bug", "feature", "docs", "chore"]),
      color: c.hex(6),
      default: false,
    })),
    head: {
      ref: `fix/${c.words(2).replace(" ", "-")}`,
      sha: c.hex(40),
      repo: { full_name: "acme/shop", private: true, default_branch: "main" },
    },
    base: { ref: "main", sha: c.hex(40), repo: { full_name: "acme/shop", private: true, default_branch: "main" } },
    additions: c.whole(1, 300),
    deletions: c.whole(0, 200),
    changed_files: i === 12 ? 412 : c.whole(1, 14),
    created_at: moment(i * 86_400),
    merged_at: null,
  }));
  return {
    name: "pull-requests.json",
    type: "json",
    compressible: true,
    text: JSON.stringify(list, null, 2),
    visible: ["acme/shop", "2310", "2369", "dirty", "412"],
    recoverable: [list[25]?.head.sha as string, list[50]?.base.sha as string],
  };
}

function audit(): CorpusInput {
  const c = new Chance(16);
  const names = PACKAGES.slice(0, 70);
  const vulnerabilities = Object.fromEntries(
    names.map((name, i) => [
      name,
      {
        name,
        severity: i === 8 ? "critical" : i === 40 ? "high" : c.of(["low", "moderate", "moderate"]),
        isDirect: i % 9 === 0,
        via:
          i === 8
            ? [
                {
                  source: 1098765,
                  name,
                  title: "Prototype Pollution in body-parser extended mode",
                  url: "https://advisories.example/GHSA-qwcr-r2fm-qrc7",
                  severity: "critical",
                  cwe: ["CWE-1321"],
                  cvss: { score: 9.8, vectorString: "CVSS:3.1/AV:N/AC:L" },
                  range: "<1.20.3",
                },
              ]
            : [c.of(names)],
        effects: times(c.whole(0, 3), () => c.of(names)),
        range: `<=${c.whole(1, 6)}.${c.whole(0, 9)}.${c.whole(0, 9)}`,
        nodes: [`node_modules/${name}`],
        fixAvailable: i === 40 ? false : { name, version: `${c.whole(2, 9)}.0.0`, isSemVerMajor: c.chance(0.3) },
      },
    ]),
  );
  return {
    name: "npm-audit.json",
    type: "json",
    compressible: true,
    text: JSON.stringify(
      {
        auditReportVersion: 2,
        vulnerabilities,
        metadata: {
          vulnerabilities: { info: 0, low: 22, moderate: 46, high: 1, critical: 1, total: 70 },
          dependencies: { prod: 211, dev: 530, total: 741 },
        },
      },
      null,
      2,
    ),
    visible: [
      "critical",
      "Prototype Pollution in body-parser extended mode",
      "GHSA-qwcr-r2fm-qrc7",
      /"total": ?70/,
      names[40] as string,
    ],
    recoverable: [names[20] as string, names[60] as string],
  };
}

function podsJson(): CorpusInput {
  const c = new Chance(17);
  const items = times(70, (i) => {
    const app = c.of(SERVICES);
    const broken = i === 33;
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `${app}-${c.hex(9)}-${c.hex(5)}`,
        namespace: "shop",
        labels: { app, "pod-template-hash": c.hex(9), tier: c.of(["web", "job"]) },
        creationTimestamp: moment(i * 3_600_000),
        uid: c.uuid(),
        resourceVersion: String(c.whole(1e7, 9e7)),
      },
      spec: {
        nodeName: `node-${c.whole(1, 9)}`,
        restartPolicy: "Always",
        containers: [
          {
            name: app,
            image: `images.example/${app}:1.${c.whole(1, 40)}.0`,
            ports: [{ containerPort: 8080, protocol: "TCP" }],
            resources: { limits: { cpu: "500m", memory: "512Mi" }, requests: { cpu: "100m", memory: "256Mi" } },
          },
        ],
      },
      status: {
        phase: broken ? "Pending" : "Running",
        podIP: c.ip(),
        containerStatuses: [
          {
            name: app,
            ready: !broken,
            restartCount: i === 51 ? 214 : c.whole(0, 2),
            state: broken
              ? { waiting: { reason: "CreateContainerConfigError", message: 'secret "mailer-smtp-v2" not found' } }
              : { running: { startedAt: moment(i * 3_600_000) } },
          },
        ],
      },
    };
  });
  return {
    name: "kubectl-get-pods.json",
    type: "json",
    compressible: true,
    text: JSON.stringify({ apiVersion: "v1", items, kind: "List" }, null, 4),
    visible: ["CreateContainerConfigError", 'secret \\"mailer-smtp-v2\\" not found', "214"],
    recoverable: [items[20]?.metadata.uid as string, items[60]?.metadata.name as string],
  };
}

function samples(): CorpusInput {
  const c = new Chance(18);
  const values = times(1_200, (i) => (i === 777 ? 9412.5 : Math.round(c.about(20.5, 1.2) * 100) / 100));
  return {
    name: "sensor-samples.json",
    type: "json",
    compressible: true,
    text: JSON.stringify({ sensor: "hall-3/temperature", unit: "C", values }),
    visible: ["hall-3/temperature", "9412.5"],
    recoverable: [`${values[500]},${values[501]},${values[502]}`],
  };
}

function japaneseRecords(): CorpusInput {
  const c = new Chance(19);
  const cities = ["東京", "大阪", "札幌", "福岡", "名古屋"];
  const list = times(220, (i) => ({
    番号: 5000 + i,
    氏名: `${c.of(["佐藤", "鈴木", "高橋", "田中", "伊藤"])} ${c.of(["陽菜", "蓮", "葵", "湊", "凛"])}`,
    都市: c.of(cities),
    状態: i === 150 ? "エラー" : "完了",
    金額: c.whole(800, 9800),
    ...(i === 150 ? { error: "決済がタイムアウトしました" } : {}),
  }));
  return {
    name: "orders-japanese.json",
    type: "json",
    compressible: true,
    text: JSON.stringify(list, null, 1),
    visible: ["決済がタイムアウトしました", "5150", "エラー"],
    recoverable: ["5101", "5180"],
  };
}

function searchAnswer(): CorpusInput {
  const c = new Chance(20);
  const hits = times(150, (i) => ({
    _index: "products-v7",
    _id: c.hex(20),
    _score: Math.round((18 - i * 0.1) * 1000) / 1000,
    _source: {
      sku: `SKU-${10000 + i}`,
      name: `${c.of(ENTITIES)} ${c.of(["Basic", "Plus", "Pro"])}`,
      price: Math.round(c.about(60, 40) * 100) / 100,
      stock: i === 66 ? -4 : c.whole(1, 400),
      tags: times(3, () => c.of(SERVICES)),
      brand: c.of(["Northline", "Kestrel", "Ovale"]),
    },
  }));
  return {
    name: "search-hits.json",
    type: "json",
    compressible: true,
    query: "SKU-10091",
    text: JSON.stringify(
      {
        took: 41,
        timed_out: false,
        _shards: {
          total: 6,
          successful: 5,
          failed: 1,
          failures: [
            { shard: 3, reason: { type: "circuit_breaking_exception", reason: "Data too large, limit is 510027366" } },
          ],
        },
        hits: { total: { value: 150, relation: "eq" }, hits },
      },
      null,
      2,
    ),
    visible: ["circuit_breaking_exception", "Data too large, limit is 510027366", "SKU-10091", /"stock": ?-4/],
    recoverable: ["SKU-10050", "SKU-10120"],
  };
}

function tooSmall(): CorpusInput {
  const text =
    '{"ok":true,"user":{"id":17,"name":"Mei Tanaka","roles":["admin","billing"]},"expires":"2026-05-04T09:30:00Z"}';
  return {
    name: "small.json",
    type: "json",
    compressible: false,
    why: "small",
    text,
    visible: ["Mei Tanaka", "billing"],
    recoverable: [],
  };
}

function randomIds(): CorpusInput {
  const c = new Chance(21);
  const ids = times(300, () => c.uuid());
  return {
    name: "random-ids.json",
    type: "json",
    compressible: false,
    why: "random identifiers",
    text: JSON.stringify(ids),
    visible: [ids[0] as string, ids[299] as string],
    recoverable: [ids[150] as string],
  };
}

function translations(): CorpusInput {
  const c = new Chance(22);
  const entries = Object.fromEntries(times(160, (i) => [`${c.of(SERVICES)}.${c.of(VERBS)}.${i}`, c.sentence(5, 12)]));
  return {
    name: "translations.json",
    type: "json",
    compressible: false,
    why: "prose that says something else on every line",
    text: JSON.stringify(entries, null, 2),
    visible: [Object.keys(entries)[0] as string],
    recoverable: [Object.values(entries)[80] as string],
  };
}

export const json = (): CorpusInput[] => [
  orders(),
  metrics(),
  objectMap(),
  eventLines(),
  pullRequests(),
  audit(),
  podsJson(),
  samples(),
  japaneseRecords(),
  searchAnswer(),
  tooSmall(),
  randomIds(),
  translations(),
];
