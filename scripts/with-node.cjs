// Runs a command on the Node.js version this repository pins, whatever Node.js (18 or later) started it.
//   node scripts/with-node.cjs node cli/main.ts --help
//   node scripts/with-node.cjs jest kernel
// Installs the locked dependencies first when they are missing or older than package-lock.json.
"use strict";

const { spawn, spawnSync } = require("node:child_process");
const { existsSync, lstatSync, statSync, utimesSync } = require("node:fs");
const { constants } = require("node:os");
const { delimiter, join } = require("node:path");

const root = join(__dirname, "..");
const modules = join(root, "node_modules");
const windows = process.platform === "win32";
const pinned = join(modules, "node", "bin", windows ? "node.exe" : "node");
const lock = join(root, "package-lock.json");
const installed = join(modules, ".package-lock.json");

/** The package's own name must lead to its sources here, and to dist/ everywhere else. */
const SOURCE = "--conditions=caveman-source";
/** Jest runs ES modules through node:vm, which is still behind a flag. */
const JEST = [
  "--experimental-vm-modules",
  "--disable-warning=ExperimentalWarning",
  join(modules, "jest", "bin", "jest.js"),
];

/** A linked node_modules belongs to another checkout, and npm ci would empty it there: it is used as it is. */
function isLinked() {
  return existsSync(modules) && lstatSync(modules).isSymbolicLink();
}

function isFresh() {
  if (isLinked()) return true;
  return existsSync(pinned) && existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}

/** Standard output belongs to the command, so an installation talks on standard error. */
function runOrExit(command, args, cwd) {
  const shell = windows && command === "npm";
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: ["ignore", 2, 2] });
  if (error) console.error(`with-node: cannot start ${command}: ${error.message}`);
  if (status !== 0) process.exit(status || 1);
}

function install() {
  const npm = process.env.npm_execpath;
  // No package runs a script of its own: the pinned binary is fetched below, and nothing is compiled.
  const ci = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  if (npm && /npm-cli\.c?js$/.test(npm)) runOrExit(process.execPath, [npm, ...ci], root);
  else runOrExit("npm", ci, root);
  if (!existsSync(pinned)) runOrExit(process.execPath, ["installArchSpecificPackage.js"], join(modules, "node"));
  if (!existsSync(pinned)) {
    console.error(
      `with-node: expected the pinned Node.js at ${pinned} after npm ci; delete node_modules and try again`,
    );
    process.exit(1);
  }
  const now = new Date();
  utimesSync(installed, now, now);
}

function commandLine([name, ...args]) {
  if (name === "node") return [pinned, [SOURCE, ...args]];
  if (name === "jest") return [pinned, [SOURCE, ...JEST, ...args]];
  return [name, args];
}

function main(words) {
  if (words.length === 0) {
    console.error("usage: node scripts/with-node.cjs <command> [arguments]");
    process.exit(2);
  }
  if (!isFresh()) install();

  const pathKey = Object.keys(process.env).find((key) => key.toUpperCase() === "PATH") || "PATH";
  const path = [join(modules, "node", "bin"), join(modules, ".bin"), process.env[pathKey]].filter(Boolean);
  const [command, args] = commandLine(words);
  const env = { ...process.env, [pathKey]: path.join(delimiter) };
  const child = spawn(command, args, { stdio: "inherit", env, shell: windows && command !== pinned });

  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`with-node: cannot start ${command}: ${error.message}`);
    process.exit(127);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // Die the way the child died, so that a shell sees the same cause.
    for (const name of signals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + (constants.signals[signal] || 0)), 100);
  });
}

main(process.argv.slice(2));
