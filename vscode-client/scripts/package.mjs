// Makes the .vsix of one platform: the server's libraries, the client, and vsce.
//
//     npm run package [-- --target darwin-arm64] [-- --out FILE]
//
// Needs a Python 3.9 or later with pip: the variable PYTHON, else the repository's .venv, else the first on PATH.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const client = dirname(dirname(fileURLToPath(import.meta.url)));
const bundle = join(client, "scripts", "bundle.py");
/** Of all files in the archive, as in bundle.py: the same input gives the same bytes. */
const epoch = "1577836800";

function main() {
  const { values } = parseArgs({ options: { target: { type: "string" }, out: { type: "string" } } });
  const target = values.target ?? ownTarget();
  const out = resolve(values.out ?? join(client, `graphmend-${target}.vsix`));
  const python = findPython();
  try {
    run(python, bundle, "--target", target);
    checkVersions();
    run(
      process.execPath,
      join(dirname(createRequire(import.meta.url).resolve("@vscode/vsce/package.json")), "vsce"),
      ...["package", "--no-dependencies", "--target", target, "--out", out],
      ...["--allow-missing-repository", "--no-rewrite-relative-links"],
    );
  } finally {
    // what stays here is for this machine, where the extension is developed
    if (target !== ownTarget()) run(python, bundle, "--target", ownTarget());
  }
}

function ownTarget() {
  const alpine = process.platform === "linux" && existsSync("/etc/alpine-release");
  return `${alpine ? "alpine" : process.platform}-${process.arch}`;
}

function findPython() {
  const environment = join(dirname(client), ".venv");
  const known = process.env.PYTHON
    ? [process.env.PYTHON]
    : [join(environment, "bin", "python"), join(environment, "Scripts", "python.exe"), "python3", "python"];
  const test = "import sys, pip; sys.exit(sys.version_info < (3, 9))";
  const found = known.find((python) => spawnSync(python, ["-c", test], { stdio: "ignore" }).status === 0);
  if (found === undefined) throw new Failure(`no Python 3.9 or later with pip among ${known.join(", ")}`);
  return found;
}

/** The extension and its server are one product. */
function checkVersions() {
  const { version } = JSON.parse(readFileSync(join(client, "package.json"), "utf8"));
  const { packages } = JSON.parse(readFileSync(join(client, "bundled", "libs", "VERSIONS.json"), "utf8"));
  const server = packages["graphmend-lsp"];
  if (server !== version) throw new Failure(`the extension is ${version}, its server ${server}`);
}

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  const environment = { ...process.env, SOURCE_DATE_EPOCH: epoch };
  const { error, status } = spawnSync(program, args, { cwd: client, env: environment, stdio: "inherit" });
  if (error || status !== 0) throw new Failure(`${program} ${args[0]}: ${error?.message ?? `exit status ${status}`}`);
}

class Failure extends Error {}

try {
  main();
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`package.mjs: ${error.message}`);
  process.exitCode = 1;
}
