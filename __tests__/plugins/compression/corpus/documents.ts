/** Settings, descriptions, documents and prose. */
import { Chance, CITIES, ENTITIES, lines, moment, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

function manifests(): CorpusInput {
  const c = new Chance(131);
  const docs = times(34, (i) => {
    const app = `${c.of(SERVICES)}-${i}`;
    return `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ${app}\n  namespace: shop\n  labels:\n    app: ${app}\nspec:\n  replicas: ${i === 19 ? 40 : c.whole(1, 4)}\n  selector:\n    matchLabels:\n      app: ${app}\n  template:\n    metadata:\n      labels:\n        app: ${app}\n    spec:\n      containers:\n        - name: ${app}\n          image: images.example/${app}:1.${c.whole(0, 40)}.0\n          ports:\n            - containerPort: 8080\n          resources:\n            limits:\n              cpu: 500m\n              memory: 512Mi\n`;
  });
  return {
    name: "deployments.yaml",
    type: "config",
    compressible: true,
    text: docs.join("---\n"),
    visible: ["apiVersion: apps/v1", "kind: Deployment"],
    recoverable: ["replicas: 40", docs[20] as string],
  };
}

function composeFile(): CorpusInput {
  const c = new Chance(132);
  const services = times(
    46,
    (i) =>
      `  ${c.of(SERVICES)}-${i}:\n    image: images.example/${c.of(SERVICES)}:${c.whole(1, 9)}.${c.whole(0, 20)}\n    restart: unless-stopped\n    environment:\n      LOG_LEVEL: ${i === 30 ? "debug" : "info"}\n      QUEUE_URL: amqp://broker:5672/${c.of(CITIES).toLowerCase()}\n    ports:\n      - "${8000 + i}:8080"\n    networks:\n      - shop\n`,
  );
  return {
    name: "docker-compose.yaml",
    type: "config",
    compressible: true,
    text: `version: "3.9"\nservices:\n${services.join("")}networks:\n  shop:\n    driver: bridge\n`,
    visible: ["services:", "networks:", "driver: bridge"],
    recoverable: [services[20] as string],
  };
}

function settings(): CorpusInput {
  const c = new Chance(133);
  const sections = times(
    40,
    (i) =>
      `[worker.${c.of(SERVICES)}-${i}]\nenabled = true\nthreads = ${i === 22 ? 512 : c.whole(2, 16)}\nqueue = "${c.of(SERVICES)}"\nretry_limit = ${c.whole(1, 9)}\ntimeout_seconds = ${c.whole(10, 90)}\nlabels = ["${c.of(CITIES).toLowerCase()}", "blue"]\n`,
  );
  return {
    name: "workers.toml",
    type: "config",
    compressible: true,
    text: `title = "workers"\nschema = 3\n\n${sections.join("\n")}`,
    visible: ['title = "workers"', "schema = 3"],
    recoverable: [sections[22] as string],
  };
}

function environment(): CorpusInput {
  return {
    name: "secrets.env",
    type: "config",
    compressible: false,
    why: "small, and secrets are no invariant",
    text: lines([
      "# production",
      "NODE_ENV=production",
      "PORT=8080",
      "DATABASE_URL=postgres://shop:q9-Xv7Lr2@db.internal:5432/shop",
      "SESSION_SECRET=5f1d7a90be3344c8a1",
      "STRIPE_KEY=placeholder-not-a-key",
      "MAIL_FROM=orders@shop.example",
      "LOG_LEVEL=info",
      "FEATURE_FAST_QUOTE=true",
      "RATE_LIMIT=600",
      "CACHE_TTL=300",
      "REGION=eu-central",
      "SENTRY_DSN=",
      "WORKERS=4",
    ]),
    visible: ["DATABASE_URL=postgres://shop:q9-Xv7Lr2@db.internal:5432/shop", "SESSION_SECRET=5f1d7a90be3344c8a1"],
    recoverable: [],
  };
}

function describe(): CorpusInput {
  const c = new Chance(134);
  const pods = times(
    22,
    (i) =>
      `Name:             ${c.of(SERVICES)}-${c.hex(5)}\nNamespace:        shop\nPriority:         0\nNode:             node-${c.whole(1, 9)}/${c.ip()}\nStart Time:       Mon, 04 May 2026 06:0${c.whole(0, 9)}:00 +0000\nStatus:           ${i === 13 ? "Failed" : "Running"}\nIP:               ${c.ip()}\nContainers:\n  app:\n    Image:          images.example/${c.of(SERVICES)}:1.${c.whole(0, 30)}\n    Port:           8080/TCP\n    State:          ${i === 13 ? "Terminated" : "Running"}\n${i === 13 ? "      Reason:       OOMKilled\n      Exit Code:    137\n" : ""}    Restart Count:  ${c.whole(0, 2)}\n    Limits:\n      memory:  512Mi\nEvents:            ${i === 13 ? "\n  Warning  BackOff  2m  kubelet  Back-off restarting failed container app" : "<none>"}\n`,
  );
  return {
    name: "kubectl-describe.txt",
    type: "config",
    compressible: true,
    text: pods.join("\n\n"),
    visible: ["OOMKilled", "Back-off restarting failed container app", "137"],
    recoverable: [(pods[5] as string).slice(0, 40)],
  };
}

function pyproject(): CorpusInput {
  return {
    name: "pyproject.toml",
    type: "config",
    compressible: false,
    why: "small",
    text: lines([
      "[project]",
      'name = "ledger"',
      'version = "2.4.1"',
      'requires-python = ">=3.11"',
      "dependencies = [",
      '  "httpx>=0.28",',
      '  "pydantic>=2.11",',
      "]",
      "",
      "[tool.ruff]",
      "line-length = 100",
      'target-version = "py311"',
      "",
      "[tool.pytest.ini_options]",
      'addopts = "-q --strict-markers"',
      'testpaths = ["tests"]',
    ]),
    visible: ['requires-python = ">=3.11"', '"httpx>=0.28",'],
    recoverable: [],
  };
}

function readme(): CorpusInput {
  const c = new Chance(135);
  const options = times(10, (i) => `### \`${c.words(1)}${i}\`\n\n${c.sentence(14, 30)} ${c.sentence(8, 18)}\n`);
  return {
    name: "README.md",
    type: "markdown",
    compressible: false,
    why: "documentation that says something else in every paragraph",
    text: `<p align="center"><img src="logo.svg" width="120" alt="quay"></p>\n<h1 align="center">quay</h1>\n\n<div align="center">\n\n[![build](https://ci.example/badge.svg)](https://ci.example) [![npm](https://packages.example/badge.svg)](https://packages.example)\n\n</div>\n\n> Tariffs without surprises.\n\n## Install\n\n\`\`\`sh\nnpm install quay\n\`\`\`\n\n## Use\n\n\`\`\`js\nimport { quote } from "quay";\nconst price = await quote({ from: "Lisbon", to: "Graz", kg: 12 });\n\`\`\`\n\n## Options\n\n${options.join("\n")}\n## Licence\n\nMIT\n`,
    visible: [
      "## Install",
      "npm install quay",
      'import { quote } from "quay";',
      "## Licence",
      "Tariffs without surprises.",
    ],
    recoverable: [],
  };
}

function apiReference(): CorpusInput {
  const c = new Chance(136);
  const used = times(70, (i) => {
    const [entity, verb] = [c.of(ENTITIES), c.of(VERBS)];
    return `### ${verb}${entity}${i}\n\n\`POST /v2/${entity.toLowerCase()}s/{id}/${verb}\`\n\nChanges the record behind the id and answers with its new revision.\n\n| Parameter | Type | Required | Default |\n| --- | --- | --- | --- |\n| \`id\` | string | yes | none |\n| \`force\` | boolean | no | false |\n| \`limit\` | integer | no | ${c.whole(10, 200)} |\n\n${i === 31 ? "> **Warning:** this call cannot be undone.\n\n" : ""}Answers with \`200\` and the record, or with \`404\` when there is none.\n`;
  });
  return {
    name: "api-reference.md",
    type: "markdown",
    compressible: true,
    text: `# Reference\n\nEvery call takes a key in the \`Authorization\` header.\n\n## Calls\n\n${used.join("\n")}`,
    visible: ["# Reference", "this call cannot be undone"],
    recoverable: [used[40] as string],
  };
}

function changelog(): CorpusInput {
  const c = new Chance(137);
  const releases = times(
    16,
    (i) =>
      `## ${4 - Math.floor(i / 5)}.${20 - i}.0 (${moment(i * -8.64e8).slice(0, 10)})\n\n${times(5, () => `- ${c.sentence(8, 16)}`).join("\n")}\n`,
  );
  return {
    name: "CHANGELOG.md",
    type: "markdown",
    compressible: false,
    why: "every line is a change of its own",
    text: `# Changelog\n\n${releases.join("\n")}`,
    visible: ["# Changelog"],
    recoverable: [releases[8] as string],
  };
}

const ESSAY = [
  "A tariff is a promise about a future nobody has seen, and the clerk who writes it knows that better than the merchant who signs it.",
  "In the autumn of that year the port of Porto kept two ledgers: one for what ships carried, one for what their captains said they carried.",
  "The difference between them paid for the lighthouse, the breakwater, and, some whispered, the bishop's second house.",
  "When the inspectors came they asked for neither ledger but for the key to the cellar, where forty years of receipts had turned to felt.",
  "No one could say afterwards who had decided to copy them out; the handwriting of three women runs through the first volumes.",
  "Their method was simple: whatever could not be read was left blank, and whatever was left blank was counted.",
  "Historians have since admired the honesty of those gaps more than the figures that surround them.",
  "A missing number that says it is missing, wrote one of them, is worth ten that merely look complete.",
  "The copyists were paid by the page, which makes their restraint the more remarkable, for a guess would have filled the line.",
  "What they could not have known is that two centuries later their blanks would locate a wreck.",
  "The ship appears in no list of arrivals, yet its cargo of tin is absent from exactly nine consecutive entries.",
  "Divers found the hull in thirty metres of water, keel upward, within sight of the tower its own dues had built.",
];

function prose(): CorpusInput {
  return {
    name: "essay.txt",
    type: "text",
    compressible: false,
    why: "dense prose",
    text: `${ESSAY.map((line, i) => `${line} ${ESSAY[(i * 5 + 3) % ESSAY.length]}`).join("\n\n")}\n`,
    visible: [ESSAY[0] as string, ESSAY[11] as string],
    recoverable: [ESSAY[5] as string],
  };
}

function russianProse(): CorpusInput {
  const parts = [
    "Осенью того года в порту вели две книги: одну о том, что везли суда, другую о том, что говорили капитаны.",
    "Разница между ними оплатила маяк, волнолом и, как шептались, второй дом епископа.",
    "Когда пришли ревизоры, они попросили не книги, а ключ от подвала, где сорок лет квитанций превратились в войлок.",
    "Никто потом не мог сказать, кто решил их переписать; в первых томах видна рука трёх женщин.",
    "Что нельзя было прочесть, оставляли пустым, а что оставалось пустым, считали.",
    "Пропуск, который признаёт себя пропуском, писал один историк, стоит десяти чисел, которые лишь выглядят полными.",
    "Двести лет спустя эти пропуски указали место кораблекрушения.",
    "Водолазы нашли корпус на глубине тридцати метров, килем вверх, в виду башни, построенной на его же пошлины.",
  ];
  return {
    name: "essay-russian.txt",
    type: "text",
    compressible: false,
    why: "dense prose",
    text: `${parts.join("\n\n")}\n`,
    visible: [parts[0] as string, parts[7] as string],
    recoverable: [],
  };
}

function chineseProse(): CorpusInput {
  const parts = [
    "那年秋天，港口有两本账：一本记船只运来的货物，一本记船长口中的货物。",
    "两本账之间的差额修了灯塔和防波堤，据说还盖了主教的第二座房子。",
    "检查员来的时候，要的不是账本，而是地窖的钥匙，四十年的收据在那里已成了毡子。",
    "后来没有人说得清是谁决定把它们重新抄写一遍，前几卷里有三位女子的笔迹。",
    "读不出的就留空白，留了空白的就数清楚。",
    "一位历史学家写道，承认自己缺失的数字，胜过十个看似完整的数字。",
    "两百年后，正是这些空白指出了一艘沉船的位置。",
    "潜水员在三十米深处找到了船身，龙骨朝上，就在它自己的税款建起的塔下。",
  ];
  return {
    name: "essay-chinese.txt",
    type: "text",
    compressible: false,
    why: "dense prose",
    text: `${parts.join("\n\n")}\n`,
    visible: [parts[0] as string, parts[7] as string],
    recoverable: [],
  };
}

function inspection(): CorpusInput {
  const c = new Chance(138);
  const entries = times(
    130,
    (i) =>
      `Container ${c.hex(4).toUpperCase()}${c.whole(100000, 999999)} arrived from ${c.of(CITIES)} on the morning tide. The seal was intact and the weight agreed with the manifest to within ${c.whole(1, 9)} kilograms. ${i === 77 ? "IMPORTANT: the temperature recorder had stopped for eleven hours; the load of vaccines was quarantined." : `It was released to the carrier at gate ${c.whole(1, 9)}.`}`,
  );
  return {
    name: "inspection-notes.txt",
    type: "text",
    compressible: true,
    text: `Harbour inspection, week 18\n\n${entries.join("\n\n")}\n\nSigned: ${c.person()}\n`,
    visible: ["Harbour inspection, week 18", "the load of vaccines was quarantined", "Signed:"],
    recoverable: [entries[30] as string, entries[110] as string],
  };
}

function transcript(): CorpusInput {
  const c = new Chance(139);
  const out = times(40, () => `${c.of(["MEI", "OMAR", "ROSA"])}: ${c.sentence(8, 22)}`);
  return {
    name: "meeting.txt",
    type: "text",
    compressible: false,
    why: "everyone says something else",
    text: lines(out),
    visible: [out[0] as string],
    recoverable: [out[20] as string],
  };
}

function noise(): CorpusInput {
  const c = new Chance(140);
  const text = `${c.base64(6000).replace(/(.{76})/g, "$1\n")}\n`;
  return {
    name: "attachment.base64",
    type: "text",
    compressible: false,
    why: "random",
    text,
    visible: [text.slice(0, 70)],
    recoverable: [text.slice(3000, 3060)],
  };
}

export const documents = (): CorpusInput[] => [
  manifests(),
  composeFile(),
  settings(),
  environment(),
  describe(),
  pyproject(),
  readme(),
  apiReference(),
  changelog(),
  prose(),
  russianProse(),
  chineseProse(),
  inspection(),
  transcript(),
  noise(),
];
