/** Logs of services, systems and builds. */
import { Chance, CITIES, lines, moment, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

function application(): CorpusInput {
  const c = new Chance(31);
  const out: string[] = [];
  for (let i = 0; i < 900; i++) {
    const at = moment(i * 731)
      .replace("T", " ")
      .replace("Z", "");
    const thread = `http-nio-8080-exec-${c.whole(1, 16)}`;
    out.push(
      `${at}  INFO 7 --- [${thread}] c.a.shop.${c.of(["OrderController", "PriceService", "StockService", "CartController"])} : ${c.of([`Handled GET /orders/${c.whole(1000, 9999)} in ${c.whole(3, 90)} ms`, `Cache hit for sku ${c.whole(10000, 99999)}`, `Priced basket ${c.whole(100, 999)} with ${c.whole(1, 9)} lines`, `Stock of ${c.whole(10000, 99999)} is ${c.whole(0, 80)}`])}`,
    );
    if (i === 412) {
      out.push(
        `${at} ERROR 7 --- [${thread}] c.a.shop.PaymentClient : Charge failed for order 88213`,
        "java.net.SocketTimeoutException: Read timed out after 5000 ms",
        ...times(
          14,
          (k) =>
            `\tat ${k < 4 ? "java.base/sun.nio.ch.NioSocketImpl" : "com.acme.shop.PaymentClient"}.call${k}(${k < 4 ? "NioSocketImpl" : "PaymentClient"}.java:${100 + k * 7})`,
        ),
        "Caused by: java.io.IOException: upstream payments-2 closed the connection",
      );
    }
    if (i === 640)
      out.push(`${at}  WARN 7 --- [${thread}] c.zaxxer.hikari.pool : Connection pool shop-db is at 48 of 50`);
  }
  return {
    name: "spring-service.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: [
      "Charge failed for order 88213",
      "SocketTimeoutException: Read timed out after 5000 ms",
      "upstream payments-2 closed the connection",
      "Connection pool shop-db is at 48 of 50",
    ],
    recoverable: [out[200] as string, out[700] as string],
  };
}

function access(): CorpusInput {
  const c = new Chance(32);
  const out = times(1_100, (i) => {
    const bad = i === 555 || i === 556;
    const path = bad
      ? "/api/v2/checkout/confirm"
      : c.of([
          `/products/${c.whole(100, 999)}`,
          "/",
          "/cart",
          `/static/app.${c.hex(8)}.js`,
          "/api/v2/prices",
          `/search?q=${c.words(1)}`,
        ]);
    return `${c.ip()} - - [04/May/2026:06:${String(Math.floor(i / 60) % 60).padStart(2, "0")}:${String(i % 60).padStart(2, "0")} +0000] "${bad ? "POST" : "GET"} ${path} HTTP/1.1" ${bad ? 502 : c.of([200, 200, 200, 200, 304])} ${bad ? 157 : c.whole(300, 42000)} "-" "${c.of(["Mozilla/5.0 (X11; Linux x86_64) Firefox/138.0", "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_4) Safari/17.4", "curl/8.7.1"])}" ${(c.next() / 4).toFixed(3)}`;
  });
  return {
    name: "nginx-access.log",
    type: "log",
    compressible: true,
    query: "502 checkout confirm",
    text: lines(out),
    visible: ['POST /api/v2/checkout/confirm HTTP/1.1" 502'],
    recoverable: [out[300] as string, out[900] as string],
  };
}

function journal(): CorpusInput {
  const c = new Chance(33);
  const out = times(620, (i) => {
    const at = `May 04 ${String(6 + Math.floor(i / 120)).padStart(2, "0")}:${String(i % 60).padStart(2, "0")}:${String(c.whole(0, 59)).padStart(2, "0")} web-07`;
    if (i === 300)
      return `${at} kernel: Out of memory: Killed process 21877 (node) total-vm:4194304kB, anon-rss:3145728kB`;
    if (i === 301) return `${at} systemd[1]: shop-api.service: Main process exited, code=killed, status=9/KILL`;
    if (i === 302) return `${at} systemd[1]: shop-api.service: Failed with result 'oom-kill'.`;
    return `${at} ${c.of([`sshd[${c.whole(900, 9999)}]: Accepted publickey for deploy from ${c.ip()} port ${c.whole(40000, 60000)} ssh2`, `systemd[1]: Started session-${c.whole(10, 999)}.scope - Session ${c.whole(10, 999)} of User deploy.`, `CRON[${c.whole(900, 9999)}]: (root) CMD (/usr/local/bin/rotate-metrics)`, `dockerd[811]: time="2026-05-04T0${c.whole(6, 9)}:00:00Z" level=info msg="ignoring event" container=${c.hex(24)} topic=/tasks/delete`])}`;
  });
  return {
    name: "journald.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: ["Killed process 21877 (node)", "code=killed, status=9/KILL", "Failed with result 'oom-kill'"],
    recoverable: [out[150] as string, out[500] as string],
  };
}

function mixed(): CorpusInput {
  const c = new Chance(34);
  const out = times(520, (i) => {
    if (i === 200)
      return `{"ts":"${moment(i * 500)}","level":"error","msg":"migration 0042_add_index failed","err":"lock timeout on table invoices"}`;
    if (i % 3 === 0)
      return `{"ts":"${moment(i * 500)}","level":"info","msg":"${c.of(["job picked", "job finished", "heartbeat"])}","job":"${c.of(VERBS)}-${c.whole(100, 999)}","ms":${c.whole(2, 200)}}`;
    if (i % 3 === 1)
      return `[${moment(i * 500)}] ${c.of(SERVICES)}.INFO: ${c.of(["consumed message", "published message", "acknowledged"])} ${c.whole(1000, 9999)} {"queue":"orders"}`;
    return `level=info ts=${moment(i * 500)} caller=worker.go:${c.whole(40, 220)} msg="lease renewed" shard=${c.whole(0, 15)}`;
  });
  return {
    name: "mixed-formats.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: ["migration 0042_add_index failed", "lock timeout on table invoices"],
    recoverable: [out[100] as string, out[401] as string],
  };
}

function compose(): CorpusInput {
  const c = new Chance(35);
  const out = times(700, (i) => {
    const service = c.of(["web-1     ", "worker-1  ", "db-1      ", "redis-1   "]);
    const at = moment(i * 240);
    if (i === 512) return `db-1       | ${at} [118] ERROR:  deadlock detected at character 15`;
    if (i === 513)
      return `db-1       | ${at} [118] DETAIL:  Process 118 waits for ShareLock on transaction 90412; blocked by process 121.`;
    return `${service} | ${at} ${service.startsWith("db") ? `[${c.whole(60, 140)}] LOG:  checkpoint complete: wrote ${c.whole(10, 400)} buffers` : service.startsWith("redis") ? `1:M * ${c.whole(1, 100)} changes in 300 seconds. Saving...` : `INFO ${c.of(["GET", "POST"])} /api/${c.of(["orders", "prices", "stock"])}/${c.whole(1, 900)} ${c.of([200, 201, 204])} ${c.whole(2, 80)}ms`}`;
  });
  return {
    name: "docker-compose.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: ["deadlock detected at character 15", "blocked by process 121"],
    recoverable: [out[100] as string, out[650] as string],
  };
}

function build(): CorpusInput {
  const c = new Chance(36);
  const out: string[] = [];
  let at = 0;
  const say = (text: string): void => void out.push(`${moment((at += c.whole(10, 900)))} ${text}`);
  say("##[group]Run actions/checkout@v4");
  for (let i = 0; i < 120; i++) say(`remote: Counting objects: ${Math.min(100, i)}% (${i * 31}/3720)`);
  say("##[endgroup]");
  for (let i = 0; i < 260; i++)
    say(
      `[INFO] Compiling ${c.of(SERVICES)}-core/src/main/java/com/acme/${c.of(SERVICES)}/${c.of(["Handler", "Mapper", "Client", "Store"])}${c.whole(1, 60)}.java`,
    );
  say(
    "[WARNING] com/acme/pricing/Rounding.java:[41,19] [deprecation] BigDecimal.ROUND_HALF_UP in BigDecimal has been deprecated",
  );
  for (let i = 0; i < 90; i++)
    say(
      `[INFO] Downloaded from central: com/acme/libs/${c.of(SERVICES)}-${c.whole(1, 9)}.${c.whole(0, 20)}.jar (${c.whole(10, 900)} kB at ${c.whole(1, 9)}.${c.whole(0, 9)} MB/s)`,
    );
  say(
    "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.13.0:compile (default-compile) on project ledger-core: Compilation failure",
  );
  say(
    "[ERROR] /srv/build/shop/ledger-core/src/main/java/com/acme/ledger/Booking.java:[88,23] incompatible types: long cannot be converted to Money",
  );
  say("##[error]Process completed with exit code 1.");
  return {
    name: "ci-build.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: [
      "ROUND_HALF_UP",
      "incompatible types: long cannot be converted to Money",
      "Process completed with exit code 1",
    ],
    recoverable: [out[60] as string, out[250] as string],
  };
}

function cyrillic(): CorpusInput {
  const c = new Chance(37);
  const out = times(420, (i) => {
    const at = moment(i * 800)
      .slice(0, 19)
      .replace("T", " ");
    if (i === 222) return `${at} [ОШИБКА] Платёж 77120 отклонён: недостаточно средств (error code 51)`;
    return `${at} [ИНФО] ${c.of([`Заказ ${c.whole(1000, 9999)} принят в обработку`, `Склад «${c.of(["Северный", "Южный", "Центральный"])}»: остаток ${c.whole(1, 400)}`, `Письмо отправлено клиенту ${c.whole(100, 999)}`])}`;
  });
  return {
    name: "app-cyrillic.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: ["Платёж 77120 отклонён: недостаточно средств"],
    recoverable: [out[100] as string, out[350] as string],
  };
}

function postgres(): CorpusInput {
  const c = new Chance(38);
  const out: string[] = [];
  for (let i = 0; i < 360; i++) {
    const head = `${moment(i * 1_400)
      .slice(0, 23)
      .replace("T", " ")} UTC [${c.whole(200, 260)}] shop@orders`;
    out.push(
      `${head} LOG:  duration: ${(c.next() * 40).toFixed(3)} ms  statement: ${c.of(["SELECT id, total FROM orders WHERE customer_id = $1", "UPDATE stock SET held = held + $1 WHERE sku = $2", "INSERT INTO events (kind, body) VALUES ($1, $2)"])}`,
    );
    if (i === 201)
      out.push(
        `${head} LOG:  duration: 18342.771 ms  statement: SELECT * FROM invoices WHERE lower(reference) LIKE '%4411%'`,
      );
    if (i === 250)
      out.push(
        `${head} ERROR:  duplicate key value violates unique constraint "invoices_number_key"`,
        `${head} DETAIL:  Key (number)=(INV-2026-0871) already exists.`,
      );
  }
  return {
    name: "postgres.log",
    type: "log",
    compressible: true,
    text: lines(out),
    visible: ["duplicate key value violates unique constraint", "INV-2026-0871"],
    recoverable: ["18342.771 ms", out[100] as string],
  };
}

function deploys(): CorpusInput {
  const c = new Chance(39);
  const out = times(
    30,
    (i) =>
      `${moment(i * 86_400_000).slice(0, 10)} ${c.person()} deployed ${c.of(SERVICES)} ${c.whole(1, 9)}.${c.whole(0, 30)}.${c.whole(0, 9)} to ${c.of(CITIES)}: ${c.sentence(9, 16)}`,
  );
  return {
    name: "deploy-notes.log",
    type: "log",
    compressible: false,
    why: "every line is a note of its own",
    text: lines(out),
    visible: [out[0] as string, out[29] as string],
    recoverable: [out[15] as string],
  };
}

export const logs = (): CorpusInput[] => [
  application(),
  access(),
  journal(),
  mixed(),
  compose(),
  build(),
  cyrillic(),
  postgres(),
  deploys(),
];
