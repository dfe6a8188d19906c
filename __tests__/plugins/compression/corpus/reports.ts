/** Test reports, stack traces and lock files. */
import { Chance, ENTITIES, lines, PACKAGES, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

const test = (c: Chance): string =>
  `${c.of(VERBS)}s the ${c.words(2)} when the ${c.words(1)} is ${c.of(["empty", "late", "locked", "known"])}`;

function jest(): CorpusInput {
  const c = new Chance(101);
  const out: string[] = [];
  for (let f = 0; f < 26; f++) {
    const path = `src/${c.of(SERVICES)}/${c.of(ENTITIES).toLowerCase()}-${f}.test.ts`;
    out.push(`${f === 14 ? "FAIL" : "PASS"} ${path} (${c.whole(1, 6)}.${c.whole(10, 99)} s)`, `  ${c.of(ENTITIES)}`);
    for (let t = 0; t < 11; t++)
      out.push(
        f === 14 && t === 5
          ? "    ✕ rounds half to even (12 ms)"
          : `    ✓ ${test(c)} (${f === 3 && t === 2 ? "4812" : c.whole(1, 40)} ms)`,
      );
    if (f === 14)
      out.push(
        "",
        "  ● Rounding › rounds half to even",
        "",
        "    expect(received).toBe(expected) // Object.is equality",
        "",
        "    Expected: 12.34",
        "    Received: 12.35",
        "",
        "      41 |   const total = round(12.345);",
        "    > 42 |   expect(total).toBe(12.34);",
        "         |                 ^",
        "      43 | });",
        "",
        "      at Object.<anonymous> (src/pricing/rounding.test.ts:42:17)",
        "",
      );
  }
  out.push(
    "",
    "Test Suites: 1 failed, 25 passed, 26 total",
    "Tests:       1 failed, 285 passed, 286 total",
    "Snapshots:   0 total",
    "Time:        41.2 s",
  );
  return {
    name: "jest.txt",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: [
      "    ✕ rounds half to even (12 ms)",
      "    Expected: 12.34",
      "    Received: 12.35",
      "    > 42 |   expect(total).toBe(12.34);",
      "src/pricing/rounding.test.ts:42:17",
      "Tests:       1 failed, 285 passed, 286 total",
      "4812 ms",
    ],
    recoverable: [out[20] as string, out[150] as string],
  };
}

function mocha(): CorpusInput {
  const c = new Chance(102);
  const out: string[] = ["", "  Basket"];
  for (let g = 0; g < 20; g++) {
    out.push(`    #${c.of(VERBS)}()`);
    for (let t = 0; t < 8; t++)
      out.push(g === 9 && t === 3 ? "      1) keeps the order of its lines" : `      ✔ ${test(c)}`);
  }
  out.push(
    "",
    "  159 passing (2s)",
    "  1 failing",
    "",
    "  1) Basket",
    "       #merge()",
    "         keeps the order of its lines:",
    "",
    "      AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:",
    "      + actual - expected",
    "",
    "        [",
    "      +   'b',",
    "          'a',",
    "      -   'b'",
    "        ]",
    "      at Context.<anonymous> (test/basket.js:88:14)",
  );
  return {
    name: "mocha-indented.txt",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: [
      "      1) keeps the order of its lines",
      "  159 passing (2s)",
      "      +   'b',\n          'a',\n      -   'b'\n        ]",
      "test/basket.js:88:14",
    ],
    recoverable: [out[40] as string],
  };
}

function pytest(): CorpusInput {
  const c = new Chance(103);
  const names = times(
    280,
    (i) => `tests/${c.of(SERVICES)}/test_${c.of(ENTITIES).toLowerCase()}.py::test_${c.of(VERBS)}_${c.words(1)}_${i}`,
  );
  const out = [
    "============================= test session starts ==============================",
    "platform linux -- Python 3.13.3, pytest-8.3.5, pluggy-1.5.0",
    "collected 280 items",
    "",
    ...names.map(
      (name, i) =>
        `${name} ${i === 131 ? "FAILED" : i === 60 ? "SKIPPED (needs a broker)" : "PASSED"} [${String(Math.floor((i * 100) / 280)).padStart(3)}%]`,
    ),
    "",
    "=================================== FAILURES ===================================",
    "_______________________________ test_split_tariff ______________________________",
    "",
    "    def test_split_tariff():",
    "        parts = split(Tariff(100), ways=3)",
    ">       assert sum(parts) == 100",
    "E       assert 99 == 100",
    "E        +  where 99 = sum([33, 33, 33])",
    "",
    "tests/pricing/test_tariff.py:27: AssertionError",
    "=========================== short test summary info ============================",
    `FAILED ${names[131]} - assert 99 == 100`,
    "================== 1 failed, 278 passed, 1 skipped in 14.21s ===================",
  ];
  return {
    name: "pytest-verbose.txt",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: [
      ">       assert sum(parts) == 100",
      "E        +  where 99 = sum([33, 33, 33])",
      "needs a broker",
      "1 failed, 278 passed, 1 skipped in 14.21s",
      names[131] as string,
    ],
    recoverable: [names[20] as string, names[200] as string],
  };
}

function goTest(): CorpusInput {
  const c = new Chance(104);
  const out: string[] = [];
  for (let i = 0; i < 170; i++) {
    const name = `Test${c.of(ENTITIES)}${c.of(VERBS)}${i}`;
    out.push(`=== RUN   ${name}`);
    if (i % 7 === 0) out.push(`    store_test.go:${c.whole(20, 300)}: opened fixture ${c.words(1)}`);
    if (i === 101) out.push("    ledger_test.go:77: balance = 1077.70, want 1090.10", `--- FAIL: ${name} (0.03s)`);
    else out.push(`--- PASS: ${name} (${i === 44 ? "6.21" : `0.0${c.whole(0, 9)}`}s)`);
  }
  out.push(
    "FAIL",
    "exit status 1",
    "FAIL\tgit.example/acme/shop/ledger\t9.104s",
    ...times(18, () => `ok  \tgit.example/acme/shop/${c.of(SERVICES)}\t0.${c.whole(10, 99)}s`),
  );
  return {
    name: "go-test.txt",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: [
      "balance = 1077.70, want 1090.10",
      /--- FAIL: \w+ \(0\.03s\)/,
      "FAIL\tgit.example/acme/shop/ledger\t9.104s",
      "6.21s",
    ],
    recoverable: [out[30] as string],
  };
}

function cargoTest(): CorpusInput {
  const c = new Chance(105);
  const out = [
    "     Running unittests src/lib.rs (target/debug/deps/shop-1f0c)",
    "",
    "running 240 tests",
    ...times(
      240,
      (i) =>
        `test ${c.of(SERVICES)}::${c.of(ENTITIES).toLowerCase()}::${c.of(VERBS)}_${c.words(1)}_${i} ... ${i === 200 ? "FAILED" : i === 12 ? "ignored" : "ok"}`,
    ),
    "",
    "failures:",
    "",
    "---- ledger::parcel::split_uneven stdout ----",
    "thread 'ledger::parcel::split_uneven' panicked at src/parcel.rs:91:5:",
    "assertion `left == right` failed: parts must add up",
    "  left: 99",
    " right: 100",
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    "",
    "test result: FAILED. 238 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.48s",
  ];
  return {
    name: "cargo-test.txt",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: [
      "panicked at src/parcel.rs:91:5",
      "  left: 99",
      " right: 100",
      "test result: FAILED. 238 passed; 1 failed; 1 ignored",
      /_200 \.\.\. FAILED/,
    ],
    recoverable: [out[100] as string],
  };
}

function tap(): CorpusInput {
  const c = new Chance(106);
  const out = ["TAP version 13"];
  for (let i = 1; i <= 120; i++) {
    const name = test(c);
    out.push(
      `# Subtest: ${name}`,
      `${i === 66 ? "not ok" : "ok"} ${i} - ${name}`,
      "  ---",
      `  duration_ms: ${c.whole(1, 30)}.${c.whole(100, 999)}`,
    );
    if (i === 66)
      out.push("  failureType: 'testCodeFailure'", "  error: 'lease was given twice'", "  code: 'ERR_ASSERTION'");
    out.push("  ...");
  }
  out.push("1..120", "# tests 120", "# pass 119", "# fail 1");
  return {
    name: "node-test.tap",
    type: "test-report",
    compressible: true,
    text: lines(out),
    visible: ["not ok 66", "  error: 'lease was given twice'", "# fail 1", "1..120"],
    recoverable: [out[50] as string],
  };
}

function junit(): CorpusInput {
  const c = new Chance(107);
  const suites = times(
    9,
    (s) =>
      `  <testsuite name="com.acme.${c.of(SERVICES)}.Suite${s}" tests="24" failures="${s === 5 ? 1 : 0}" errors="0" skipped="0" time="${c.whole(1, 9)}.2">\n${times(24, (t) => (s === 5 && t === 11 ? `    <testcase name="refusesTwice" classname="com.acme.ledger.BookingTest" time="0.004">\n      <failure message="expected: &lt;REFUSED&gt; but was: &lt;BOOKED&gt;" type="AssertionFailedError">at com.acme.ledger.BookingTest.refusesTwice(BookingTest.java:64)</failure>\n    </testcase>` : `    <testcase name="${c.of(VERBS)}${c.of(ENTITIES)}${t}" classname="com.acme.${c.of(SERVICES)}.${c.of(ENTITIES)}Test" time="0.0${c.whole(10, 99)}"/>`)).join("\n")}\n    <system-out><![CDATA[${times(30, () => `${c.of(SERVICES)} ready in ${c.whole(2, 90)} ms`).join("\n")}]]></system-out>\n  </testsuite>`,
  );
  return {
    name: "junit.xml",
    type: "test-report",
    compressible: true,
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="216" failures="1">\n${suites.join("\n")}\n</testsuites>\n`,
    visible: [
      "refusesTwice",
      "expected: &lt;REFUSED&gt; but was: &lt;BOOKED&gt;",
      "BookingTest.java:64",
      'tests="216" failures="1"',
    ],
    recoverable: [suites[2] as string],
  };
}

function allFailing(): CorpusInput {
  const c = new Chance(108);
  const out = [
    "running 14 tests",
    ...times(14, (i) => `test store::case_${i} ... FAILED`),
    "",
    "failures:",
    ...times(
      14,
      (i) =>
        `\n---- store::case_${i} stdout ----\nthread 'store::case_${i}' panicked at src/store.rs:${c.whole(10, 400)}:5:\n${c.sentence(6, 12)}`,
    ),
    "",
    "test result: FAILED. 0 passed; 14 failed",
  ];
  return {
    name: "all-failing.txt",
    type: "test-report",
    compressible: false,
    why: "every test failed, and failures stay",
    text: lines(out),
    visible: ["0 passed; 14 failed", out[30] ?? ""],
    recoverable: [],
  };
}

function pythonTrace(): CorpusInput {
  const round = (n: number): string =>
    `  File "/srv/shop/app/tree.py", line ${41 + (n % 2) * 9}, in ${n % 2 ? "visit" : "walk"}\n    ${n % 2 ? "self.walk(child, depth + 1)" : "return self.visit(node)"}\n`;
  const library = times(
    16,
    (i) =>
      `  File "/usr/lib/python3.13/site-packages/starlette/${["routing", "middleware/base", "applications"][i % 3]}.py", line ${100 + i * 31}, in __call__\n    await self.app(scope, receive, send)\n`,
  ).join("");
  const text = `Traceback (most recent call last):\n  File "/srv/shop/app/main.py", line 12, in handle\n    return tree.total(order)\n${library}  File "/srv/shop/app/orders.py", line 88, in total\n    return Walker(order).walk(order.root, 0)\n${times(400, round).join("")}RecursionError: maximum recursion depth exceeded while calling a Python object\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File "/srv/shop/app/main.py", line 14, in handle\n    release(order.lock)\nLookupError: lock 4471 is not held\n`;
  return {
    name: "python-recursion.txt",
    type: "stack-trace",
    compressible: true,
    text,
    visible: [
      '"/srv/shop/app/main.py", line 12, in handle',
      "return tree.total(order)",
      "RecursionError: maximum recursion depth exceeded",
      "LookupError: lock 4471 is not held",
      /more|times/,
    ],
    recoverable: ["middleware/base.py"],
  };
}

function javaTrace(): CorpusInput {
  const c = new Chance(110);
  const spring = times(
    46,
    (i) =>
      `\tat org.springframework.${c.of(["web.servlet", "security.web", "aop.framework", "transaction.interceptor"])}.${c.of(["FrameworkServlet", "FilterChainProxy", "ReflectiveMethodInvocation"])}.${c.of(["doFilter", "invoke", "proceed"])}(${c.of(["FrameworkServlet", "FilterChainProxy"])}.java:${100 + i})`,
  );
  const tomcat = times(
    22,
    (i) => `\tat org.apache.catalina.core.ApplicationFilterChain.doFilter(ApplicationFilterChain.java:${140 + i})`,
  );
  const text = lines([
    "org.springframework.web.util.NestedServletException: Request processing failed",
    ...spring,
    "\tat com.acme.shop.OrderController.confirm(OrderController.java:71)",
    ...tomcat,
    "\tat java.base/java.lang.Thread.run(Thread.java:1583)",
    "Caused by: com.acme.shop.StockException: sku 40118 has 0 left, 3 wanted",
    "\tat com.acme.shop.StockService.hold(StockService.java:118)",
    "\tat com.acme.shop.OrderService.confirm(OrderService.java:54)",
    ...spring.slice(0, 20),
    "\t... 71 more",
    "Caused by: java.sql.SQLException: Lock wait timeout exceeded",
    "\tat com.mysql.cj.jdbc.exceptions.SQLError.createSQLException(SQLError.java:130)",
    "\tat com.acme.shop.StockDao.lock(StockDao.java:39)",
    "\t... 94 more",
  ]);
  return {
    name: "java-spring.txt",
    type: "stack-trace",
    compressible: true,
    text,
    visible: [
      "Request processing failed",
      "OrderController.java:71",
      "sku 40118 has 0 left, 3 wanted",
      "StockService.java:118",
      "StockDao.java:39",
      "Lock wait timeout exceeded",
      "... 94 more",
    ],
    recoverable: [tomcat[10] as string],
  };
}

function goroutines(): CorpusInput {
  const c = new Chance(111);
  const idle = (id: number): string =>
    `goroutine ${id} [select, ${c.whole(2, 40)} minutes]:\ngit.example/acme/shop/pool.(*Worker).loop(0xc000${c.hex(6)})\n\t/srv/shop/pool/worker.go:58 +0x${c.hex(2)}\ncreated by git.example/acme/shop/pool.New in goroutine 1\n\t/srv/shop/pool/pool.go:31 +0x${c.hex(3)}\n`;
  const text = `panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x8f2a31]\n\ngoroutine 211 [running]:\ngit.example/acme/shop/cart.(*Cart).Total(0x0, 0xc00041e000)\n\t/srv/shop/cart/total.go:44 +0x31\ngit.example/acme/shop/api.confirm(0xc0004aa000)\n\t/srv/shop/api/confirm.go:92 +0x1a4\nnet/http.HandlerFunc.ServeHTTP(0xc0003e2210, 0xc00041e000)\n\t/usr/local/go/src/net/http/server.go:2220 +0x29\n\n${times(120, (i) => idle(300 + i)).join("\n")}\nexit status 2\n`;
  return {
    name: "goroutine-dump.txt",
    type: "stack-trace",
    compressible: true,
    text,
    visible: [
      "invalid memory address or nil pointer dereference",
      "/srv/shop/cart/total.go:44",
      "/srv/shop/api/confirm.go:92",
      "/srv/shop/pool/worker.go:58",
      "exit status 2",
      /goroutine 4\d\d/,
    ],
    recoverable: ["goroutine 350 [select"],
  };
}

function rustTrace(): CorpusInput {
  const c = new Chance(112);
  const frame = (n: number, name: string, place: string): string =>
    `${String(n).padStart(4)}: ${name}\n             at ${place}`;
  const std = (n: number): string =>
    frame(
      n,
      `${c.of(["core", "std", "tokio"])}::${c.of(["ops::function::FnOnce::call_once", "panicking::try", "runtime::task::harness::poll_future", "runtime::scheduler::multi_thread::worker::run"])}`,
      c.of([
        `/rustc/${"a1b2c3d4e5f60718"}/library/std/src/panicking.rs:${c.whole(100, 800)}:5`,
        `/home/dev/.cargo/registry/src/index-6f17/tokio-1.44.2/src/runtime/task/harness.rs:${c.whole(100, 800)}:9`,
      ]),
    );
  const text = lines([
    "thread 'tokio-runtime-worker' panicked at src/quote.rs:118:37:",
    "called `Option::unwrap()` on a `None` value",
    "stack backtrace:",
    ...times(5, (n) => std(n)),
    frame(5, "shop::quote::pick", "/srv/shop/src/quote.rs:118:37"),
    frame(6, "shop::api::confirm::{{closure}}", "/srv/shop/src/api.rs:52:14"),
    ...times(58, (n) => std(7 + n)),
    frame(65, "shop::main", "/srv/shop/src/main.rs:19:5"),
    "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.",
  ]);
  return {
    name: "rust-backtrace.txt",
    type: "stack-trace",
    compressible: true,
    text,
    visible: [
      "src/quote.rs:118:37",
      "called `Option::unwrap()` on a `None` value",
      "shop::api::confirm",
      "/srv/shop/src/main.rs:19:5",
    ],
    recoverable: ["  40: "],
  };
}

function nodeTrace(): CorpusInput {
  return {
    name: "node-short.txt",
    type: "stack-trace",
    compressible: false,
    why: "small",
    text: lines([
      "TypeError: Cannot read properties of undefined (reading 'total')",
      "    at confirm (/srv/shop/src/cart.js:41:22)",
      "    at Layer.handle (/srv/shop/node_modules/express/lib/router/layer.js:95:5)",
      "    at next (/srv/shop/node_modules/express/lib/router/route.js:149:13)",
      "    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
    ]),
    visible: ["/srv/shop/src/cart.js:41:22", "reading 'total'"],
    recoverable: [],
  };
}

const version = (c: Chance): string => `${c.whole(0, 9)}.${c.whole(0, 30)}.${c.whole(0, 12)}`;

function npmLock(): CorpusInput {
  const c = new Chance(121);
  const packages: Record<string, unknown> = {
    "": {
      name: "shop-web",
      version: "3.2.0",
      dependencies: { express: "^4.21.0", zod: "^3.24.0" },
      devDependencies: { vite: "^6.3.0" },
    },
  };
  for (const name of PACKAGES) {
    const v = version(c);
    packages[`node_modules/${name}`] = {
      version: v,
      resolved:
        name === "delegates"
          ? "git+ssh://git@git.example/acme/delegates.git#9f1c2d3e"
          : `https://packages.example/${name}/-/${name}-${v}.tgz`,
      integrity: `sha512-${c.base64(86)}==`,
      ...(name === "glob-parent" ? { deprecated: "This version has a known vulnerability" } : {}),
      ...(name === "esbuild" ? { hasInstallScript: true } : {}),
      license: c.of(["MIT", "MIT", "ISC", "Apache-2.0"]),
      engines: { node: `>=${c.whole(12, 20)}` },
      ...(c.chance(0.6)
        ? { dependencies: Object.fromEntries(times(c.whole(1, 4), () => [c.of(PACKAGES), `^${version(c)}`])) }
        : {}),
    };
  }
  return {
    name: "package-lock.json",
    type: "lock-file",
    compressible: true,
    text: JSON.stringify({ name: "shop-web", version: "3.2.0", lockfileVersion: 3, requires: true, packages }, null, 2),
    visible: [
      "express",
      "git@git.example/acme/delegates.git#9f1c2d3e",
      "This version has a known vulnerability",
      "install script",
      /zod@\d/,
      "^4.21.0",
    ],
    recoverable: ["sha512-", "https://packages.example/zod/-/zod-"],
  };
}

function yarnLock(): CorpusInput {
  const c = new Chance(122);
  const out = PACKAGES.map((name) => {
    const v = version(c);
    return `${name}@^${v}${c.chance(0.3) ? `, ${name}@~${v}` : ""}:\n  version "${v}"\n  resolved "https://packages.example/${name}/-/${name}-${v}.tgz#${c.hex(40)}"\n  integrity sha512-${c.base64(86)}==\n${c.chance(0.5) ? `  dependencies:\n    ${c.of(PACKAGES)} "^${version(c)}"\n    ${c.of(PACKAGES)} "~${version(c)}"\n` : ""}`;
  });
  return {
    name: "yarn.lock",
    type: "lock-file",
    compressible: true,
    text: `# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.\n# yarn lockfile v1\n\n\n${out.join("\n")}`,
    visible: [/acorn@\d/, /zod@\d/, "packages.example"],
    recoverable: ["sha512-"],
  };
}

function pnpmLock(): CorpusInput {
  const c = new Chance(123);
  const packages = PACKAGES.map(
    (name) =>
      `  ${name}@${version(c)}:\n    resolution: {integrity: sha512-${c.base64(86)}==${name === "undici" ? ", tarball: https://mirror.example/undici.tgz" : ""}}\n    engines: {node: '>=${c.whole(12, 20)}'}\n${name === "rimraf" ? "    deprecated: Rimraf versions prior to v4 are no longer supported\n" : ""}`,
  );
  return {
    name: "pnpm-lock.yaml",
    type: "lock-file",
    compressible: true,
    text: `lockfileVersion: '9.0'\n\nsettings:\n  autoInstallPeers: true\n\nimporters:\n\n  .:\n    dependencies:\n      express:\n        specifier: ^4.21.0\n        version: 4.21.2\n\npackages:\n\n${packages.join("\n")}\nsnapshots:\n\n${PACKAGES.map((name) => `  ${name}@${version(c)}:\n    dependencies:\n      ${c.of(PACKAGES)}: ${version(c)}\n`).join("\n")}`,
    visible: [
      "lockfileVersion: '9.0'",
      "specifier: ^4.21.0",
      "https://mirror.example/undici.tgz",
      "Rimraf versions prior to v4",
      /zod@\d/,
    ],
    recoverable: ["snapshots:"],
  };
}

function cargoLock(): CorpusInput {
  const c = new Chance(124);
  const out = PACKAGES.map(
    (name) =>
      `[[package]]\nname = "${name}"\nversion = "${version(c)}"\nsource = "${name === "ws" ? "git+https://git.example/acme/ws?rev=77aa#77aa01" : "registry+https://index.example/crates"}"\nchecksum = "${c.hex(64)}"\n${c.chance(0.6) ? `dependencies = [\n "${c.of(PACKAGES)}",\n "${c.of(PACKAGES)} ${version(c)}",\n]\n` : ""}`,
  );
  return {
    name: "Cargo.lock",
    type: "lock-file",
    compressible: true,
    text: `# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n${out.join("\n")}`,
    visible: ["git+https://git.example/acme/ws?rev=77aa#77aa01", /acorn@\d/, /zod@\d/],
    recoverable: ["checksum = "],
  };
}

function poetryLock(): CorpusInput {
  const c = new Chance(125);
  const out = PACKAGES.map(
    (name) =>
      `[[package]]\nname = "${name}"\nversion = "${version(c)}"\ndescription = "${c.sentence(4, 8)}"\noptional = false\npython-versions = ">=3.${c.whole(7, 10)}"\nfiles = [\n${times(c.whole(2, 6), () => `    {file = "${name}-${c.whole(1, 9)}.0-cp313-${c.of(["manylinux", "macosx", "win"])}.whl", hash = "sha256:${c.hex(64)}"},`).join("\n")}\n]\n`,
  );
  return {
    name: "poetry.lock",
    type: "lock-file",
    compressible: true,
    text: `# This file is automatically @generated by Poetry 2.1.2 and should not be changed by hand.\n\n${out.join("\n")}\n[metadata]\nlock-version = "2.1"\npython-versions = ">=3.11,<4.0"\ncontent-hash = "${c.hex(64)}"\n`,
    visible: ['python-versions = ">=3.11,<4.0"', /zod@\d/, /acorn@\d/],
    recoverable: ['hash = "sha256:'],
  };
}

function goSum(): CorpusInput {
  const c = new Chance(126);
  const out = PACKAGES.flatMap((name) => {
    const module = `git.example/${c.of(SERVICES)}/${name}`;
    const v = `v${version(c)}`;
    return [`${module} ${v} h1:${c.base64(43)}=`, `${module} ${v}/go.mod h1:${c.base64(43)}=`];
  });
  return {
    name: "go.sum",
    type: "lock-file",
    compressible: true,
    text: lines(out),
    visible: [/git\.example\/\w+\/acorn@v\d/, /git\.example\/\w+\/zod@v\d/],
    recoverable: [out[100] as string],
  };
}

export const reports = (): CorpusInput[] => [
  jest(),
  mocha(),
  pytest(),
  goTest(),
  cargoTest(),
  tap(),
  junit(),
  allFailing(),
  pythonTrace(),
  javaTrace(),
  goroutines(),
  rustTrace(),
  nodeTrace(),
  npmLock(),
  yarnLock(),
  pnpmLock(),
  cargoLock(),
  poetryLock(),
  goSum(),
];
