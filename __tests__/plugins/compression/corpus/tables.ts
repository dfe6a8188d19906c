/** Tables: delimited, aligned, drawn, and answered by databases. */
import { Chance, CITIES, ENTITIES, lines, moment, SERVICES, times } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

function quoted(): CorpusInput {
  const c = new Chance(61);
  const rows = times(380, (i) =>
    [
      `INV-${20000 + i}`,
      `"${c.of(["Northline, Ltd.", 'Kestrel "KX" GmbH', "Ovale S.A.", "Brno & Sons, Inc."]).replaceAll('"', '""')}"`,
      c.of(CITIES),
      moment(i * 3.6e6).slice(0, 10),
      i === 190 ? "-1250.00" : c.about(240, 180).toFixed(2),
      i === 251 ? "failed" : c.of(["paid", "paid", "open"]),
      i === 251 ? '"Bank returned the debit, account closed"' : "",
    ].join(","),
  );
  return {
    name: "invoices-quoted.csv",
    type: "tabular",
    compressible: true,
    text: lines(["number,customer,city,issued,amount,state,remark", ...rows]),
    visible: [
      "number,customer,city,issued,amount,state,remark",
      "-1250.00",
      '"Bank returned the debit, account closed"',
      "INV-20000",
      "INV-20379",
    ],
    recoverable: ["INV-20100", "INV-20300"],
  };
}

function sensors(): CorpusInput {
  const c = new Chance(62);
  const rows = times(500, (i) =>
    [
      moment(i * 60_000),
      c.of(["hall-1", "hall-2", "hall-3"]),
      i === 321 ? "88.90" : c.about(21, 1.4).toFixed(2),
      Math.round(c.about(45, 8)),
      i < 350 ? 400 + c.whole(0, 30) : 900 + c.whole(0, 30),
    ].join("\t"),
  );
  return {
    name: "sensors.tsv",
    type: "tabular",
    compressible: true,
    text: lines(["time\troom\ttemperature\thumidity\tco2", ...rows]),
    visible: ["88.90", (rows[350] as string).slice(0, 24), rows[0] as string, rows[499] as string],
    recoverable: [rows[200] as string],
  };
}

function people(): CorpusInput {
  const c = new Chance(63);
  const rows = times(260, (i) =>
    [
      3000 + i,
      c.person(),
      `user${i}@acme.example`,
      c.of(["engineering", "sales", "support", "finance"]),
      c.of(CITIES),
      i === 99 ? "suspended" : "active",
      c.whole(2012, 2025),
    ].join(";"),
  );
  return {
    name: "people.semicolon.csv",
    type: "tabular",
    compressible: true,
    query: "user180@acme.example",
    text: lines(["id;name;email;team;city;status;since", ...rows]),
    visible: ["suspended", "user180@acme.example", "3099"],
    recoverable: ["user42@acme.example", "user222@acme.example"],
  };
}

function markdownTable(): CorpusInput {
  const c = new Chance(64);
  const rows = times(
    120,
    (i) =>
      `| ${c.of(SERVICES)}-${i} | ${c.of(CITIES)} | ${i === 55 ? "down" : "up"} | ${c.whole(10, 90)} | ${i === 78 ? 9100 : c.whole(100, 400)} |`,
  );
  return {
    name: "status-table.md",
    type: "tabular",
    compressible: true,
    text: lines(["| service | region | state | load | latency_ms |", "|---|---|---|---:|---:|", ...rows]),
    visible: ["| service | region | state | load | latency_ms |", "down", "9100", rows[119] as string],
    recoverable: [rows[30] as string],
  };
}

function smallTable(): CorpusInput {
  return {
    name: "rates.csv",
    type: "tabular",
    compressible: false,
    why: "small",
    text: lines([
      "code,name,rate",
      "EUR,Euro,1",
      "USD,Dollar,1.09",
      "GBP,Pound,0.85",
      "JPY,Yen,163.2",
      "CHF,Franc,0.97",
      "SEK,Krona,11.3",
      "NOK,Krone,11.6",
      "DKK,Krone,7.46",
    ]),
    visible: ["JPY,Yen,163.2"],
    recoverable: [],
  };
}

/** Cells padded under their header. */
function aligned(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map(
    (title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)) + 3,
  );
  return lines(
    [header, ...rows].map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("")
        .trimEnd(),
    ),
  );
}

function dockerPs(): CorpusInput {
  const c = new Chance(65);
  const rows = times(64, (i) => {
    const app = c.of(SERVICES);
    return [
      c.hex(12),
      `images.example/${app}:${c.whole(1, 9)}.${c.whole(0, 30)}`,
      `"docker-entrypoint.s…"`,
      `${c.whole(2, 9)} days ago`,
      i === 21 ? "Restarting (137) 12 seconds ago" : i === 40 ? "Up 3 days (unhealthy)" : `Up ${c.whole(2, 9)} days`,
      `0.0.0.0:${8000 + i}->8080/tcp`,
      i === 21 ? "shop-mailer-3" : `shop-${app}-${i}`,
    ];
  });
  return {
    name: "docker-ps.txt",
    type: "aligned-table",
    compressible: true,
    text: aligned(["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"], rows),
    visible: [
      "CONTAINER ID",
      "Restarting (137) 12 seconds ago",
      "shop-mailer-3",
      "(unhealthy)",
      rows[0]?.[0] as string,
    ],
    recoverable: [rows[30]?.[0] as string, rows[50]?.[6] as string],
  };
}

function kubectl(): CorpusInput {
  const c = new Chance(66);
  const rows = times(140, (i) => [
    c.of(["shop", "shop", "platform", "observability"]),
    `${c.of(SERVICES)}-${c.hex(9)}-${c.hex(5)}`,
    i === 70 || i === 90 ? "0/1" : "1/1",
    i === 70 ? "CrashLoopBackOff" : i === 90 ? "ImagePullBackOff" : "Running",
    i === 70 ? "481 (2m ago)" : String(c.whole(0, 2)),
    `${c.whole(1, 40)}d`,
    c.ip(),
    `node-${c.whole(1, 9)}`,
  ]);
  return {
    name: "kubectl-get-pods.txt",
    type: "aligned-table",
    compressible: true,
    text: aligned(["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"], rows),
    visible: ["CrashLoopBackOff", "ImagePullBackOff", "481 (2m ago)", rows[70]?.[1] as string, "NAMESPACE"],
    recoverable: [rows[33]?.[1] as string, rows[111]?.[6] as string],
  };
}

function ps(): CorpusInput {
  const c = new Chance(67);
  const commands = [
    "/usr/sbin/sshd -D",
    "[kworker/0:1-events]",
    "/usr/lib/systemd/systemd-journald",
    "node /srv/shop/worker.js --queue orders",
    "postgres: shop orders 10.0.0.4(40112) idle",
    "nginx: worker process",
  ];
  const rows = times(
    210,
    (i) =>
      `${c.of(["root", "root", "shop", "postgres", "www-data"]).padEnd(10)}${String(300 + i * 7).padStart(6)} ${(i === 144 ? "387" : c.about(0.6, 0.5).toFixed(1)).padStart(4)} ${c.about(0.9, 0.7).toFixed(1).padStart(4)} ${String(c.whole(4000, 900000)).padStart(7)} ${String(c.whole(900, 90000)).padStart(6)} ?        ${i === 60 ? "Z" : "S"}    May03  ${c.whole(0, 9)}:${String(c.whole(0, 59)).padStart(2, "0")} ${i === 144 ? "node /srv/shop/report.js --month 2026-04" : i === 60 ? "[convert] <defunct>" : c.of(commands)}`,
  );
  return {
    name: "ps-aux.txt",
    type: "aligned-table",
    compressible: true,
    text: lines(["USER         PID %CPU %MEM     VSZ    RSS TTY      STAT START  TIME COMMAND", ...rows]),
    visible: ["node /srv/shop/report.js --month 2026-04", "<defunct>", "%CPU"],
    recoverable: [rows[30] as string, rows[180] as string],
  };
}

function df(): CorpusInput {
  return {
    name: "df.txt",
    type: "aligned-table",
    compressible: false,
    why: "small",
    text: aligned(
      ["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"],
      [
        ["/dev/nvme0n1p2", "458G", "391G", "44G", "90%", "/"],
        ["tmpfs", "16G", "2.1M", "16G", "1%", "/run"],
        ["/dev/nvme1n1", "1.8T", "1.8T", "0", "100%", "/var/lib/data"],
        ["tmpfs", "3.2G", "88K", "3.2G", "1%", "/run/user/1000"],
        ["/dev/sda1", "512M", "6M", "506M", "2%", "/boot/efi"],
        ["overlay", "458G", "391G", "44G", "90%", "/var/lib/docker"],
      ],
    ),
    visible: ["100%", "/var/lib/data"],
    recoverable: [],
  };
}

function psql(): CorpusInput {
  const c = new Chance(68);
  const rows = times(
    220,
    (i) =>
      ` ${String(7000 + i).padStart(5)} | ${c.of(CITIES).padEnd(8)} | ${(i === 170 ? "refused" : c.of(["booked", "booked", "paid"])).padEnd(8)} | ${(i === 12 ? "40210.00" : c.about(300, 220).toFixed(2)).padStart(9)} | ${moment(
        i * 7.2e6,
      )
        .slice(0, 19)
        .replace("T", " ")}`,
  );
  return {
    name: "psql-orders.txt",
    type: "sql-result",
    compressible: true,
    text: lines([
      "  id   |   city   |  state   |  amount   |      booked_at",
      "-------+----------+----------+-----------+---------------------",
      ...rows,
      "(220 rows)",
      "",
    ]),
    visible: ["(220 rows)", "refused", "40210.00", "booked_at"],
    recoverable: [rows[100] as string],
  };
}

function mysql(): CorpusInput {
  const c = new Chance(69);
  const border = "+------+-------------+----------+--------+";
  const rows = times(
    180,
    (i) =>
      `| ${String(i + 1).padStart(4)} | ${`${c.of(SERVICES)}`.padEnd(11)} | ${(i === 99 ? "ERROR" : "ok").padEnd(8)} | ${String(i === 140 ? 99999 : c.whole(10, 900)).padStart(6)} |`,
  );
  return {
    name: "mysql-jobs.txt",
    type: "sql-result",
    compressible: true,
    text: lines([
      border,
      "| id   | job         | outcome  | millis |",
      border,
      ...rows,
      border,
      "180 rows in set (0.02 sec)",
    ]),
    visible: ["180 rows in set (0.02 sec)", "ERROR", "99999", "outcome"],
    recoverable: [rows[50] as string],
  };
}

function sqliteBox(): CorpusInput {
  const c = new Chance(70);
  const rows = times(
    150,
    (i) =>
      `│ ${String(i + 1).padEnd(4)} │ ${c.of(ENTITIES).padEnd(12)} │ ${(i === 77 ? "corrupt" : "valid").padEnd(8)} │ ${c.whole(100, 999)}   │`,
  );
  return {
    name: "sqlite-box.txt",
    type: "sql-result",
    compressible: true,
    text: lines([
      "┌──────┬──────────────┬──────────┬───────┐",
      "│ id   │ kind         │ checksum │ pages │",
      "├──────┼──────────────┼──────────┼───────┤",
      ...rows,
      "└──────┴──────────────┴──────────┴───────┘",
    ]),
    visible: ["corrupt", "checksum", rows[149] as string],
    recoverable: [rows[20] as string],
  };
}

export const tables = (): CorpusInput[] => [
  quoted(),
  sensors(),
  people(),
  markdownTable(),
  smallTable(),
  dockerPs(),
  kubectl(),
  ps(),
  df(),
  psql(),
  mysql(),
  sqliteBox(),
];
