// Runs the scripted day in real VS Code.
//
//   node tests/editors/vscode/run.mjs --python PYTHON [--editors DIR] [--vsix FILE] [--version newest|floor]...
//        [--limit SECONDS] [--verbose] [SESSION...]
//
// DIR is the folder of install.sh (.editors), PYTHON one with torch, FILE what `npm run package` has made.  Pictures go to
// DIR/shots/VERSION/, each session's steps and logs to DIR/out/VERSION-SESSION/.  The session "pictures", which takes those of the
// documentation, is run only where it is named.  --limit is what a step may take, --verbose prints the steps.  The exit status is 0 if all passed, 1 if one failed, 2 for a wrong call.

import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { PICTURES, SESSIONS } from "./day/index.mjs";
import { removeAll } from "./driver/extensions.mjs";
import { play } from "./driver/play.mjs";

const CLIENT = path.resolve(import.meta.dirname, "..", "..", "..", "vscode-client");
const VERSIONS = { newest: ".", floor: "floor" };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    editors: { type: "string", default: ".editors" },
    vsix: { type: "string", default: path.join(CLIENT, `graphmend-${process.platform}-${process.arch}.vsix`) },
    python: { type: "string" },
    version: { type: "string", multiple: true, default: Object.keys(VERSIONS) },
    limit: { type: "string", default: "60" },
    verbose: { type: "boolean", default: false },
  },
});

function refuse(message) {
  console.error(`run.mjs: ${message}`);
  process.exit(2);
}

if (options.python === undefined) refuse("--python is missing");
for (const name of ["vsix", "python"]) {
  if (!fs.existsSync(options[name])) refuse(`--${name}: there is no ${options[name]}`);
}
const known = [...SESSIONS, PICTURES];
const names = positionals.length > 0 ? positionals : SESSIONS.map((each) => each.name);
for (const name of names) {
  if (!known.some((each) => each.name === name)) refuse(`no session ${name}; there are ${known.map((each) => each.name).join(", ")}`);
}
const editors = fs.realpathSync(options.editors);
for (const version of options.version) {
  if (!(version in VERSIONS)) refuse(`no version ${version}; there are ${Object.keys(VERSIONS).join(" and ")}`);
  if (!fs.existsSync(path.join(editors, VERSIONS[version], "code-server", "node_modules"))) {
    refuse(`${version} is not installed in ${editors}: see install.sh`);
  }
}

let failed = 0;
const begun = Date.now();
for (const version of options.version) {
  for (const session of known.filter((each) => names.includes(each.name))) {
    const passed = await play(session, {
      version,
      home: path.join(editors, VERSIONS[version]),
      out: path.join(editors, "out", `${version}-${session.name}`),
      shots: path.join(editors, "shots", version),
      vsix: path.resolve(options.vsix),
      // As it is named: what a link of an environment points to is another Python.
      python: path.resolve(options.python),
      limit: Number(options.limit) * 1000,
      verbose: options.verbose,
    });
    if (!passed) failed += 1;
  }
}
removeAll();
console.log(`${failed === 0 ? "all passed" : `${failed} failed`}, ${((Date.now() - begun) / 1000).toFixed(0)} s`);
process.exit(failed === 0 ? 0 : 1);
