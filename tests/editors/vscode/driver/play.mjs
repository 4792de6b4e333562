// Plays one session of the day on one version of VS Code, and says in a line how it went.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { host } from "./extension_host.mjs";
import { installed, removeAll } from "./extensions.mjs";
import { Session } from "./session.mjs";

const LONGEST_MS = 600_000;
const HERE = import.meta.dirname;
const WORKSPACE = path.resolve(HERE, "..", "..", "workspace");

/** A copy of a workspace, in a folder with a name to be shown. */
function copyOf(workspace, name) {
  const parent = fs.mkdtempSync(path.join(os.tmpdir(), "gm-day-"));
  const folder = path.join(parent, name);
  fs.cpSync(workspace, folder, { recursive: true, filter: (file) => !/(__pycache__|\.ruff_cache|neovim)$/.test(file) });
  return { parent, folder };
}

export async function play(session, options) {
  const { version, home, out, shots, vsix, python, verbose } = options;
  const { parent, folder } = copyOf(session.workspace ?? WORKSPACE, session.folderName ?? "routing");
  const begun = Date.now();
  const context = { version, folder, parent, python };
  const set = session.setUp?.(context) ?? {};
  const vs = new Session({
    home,
    extensions: installed(home, [vsix, ...(set.vsix ?? [])]),
    out,
    shots,
    prefix: session.name,
    folder,
    size: session.size,
    limit: options.limit,
    trust: session.trust ?? false,
    settings: { ...session.settings, ...set.settings },
    env: set.env ?? {},
  });
  const stop = () => {
    vs.kill();
    removeAll();
    fs.rmSync(parent, { recursive: true, force: true });
    process.exit(143);
  };
  process.once("SIGTERM", stop).once("SIGINT", stop);

  const day = async () => {
    await vs.begin({ file: session.file });
    await session.day(vs.actor(), { ...context, set });
  };
  const tests = async () => {
    const running = host(vs, session.tests, "graphmend.graphmend");
    await vs.begin(running);
    const code = await running.ended;
    vs.steps = running.lines.map((line) => ({ step: line, ok: line.startsWith("ok ") }));
    const failures = running.lines.filter((line) => !line.startsWith("ok "));
    if (code !== 0 || vs.steps.length === 0) throw new Error(`the tests ended with ${code}\n${failures.join("\n")}`);
  };
  let error;
  let timer;
  try {
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${LONGEST_MS / 1000} s`)), LONGEST_MS);
    });
    await Promise.race([session.tests === undefined ? day() : tests(), late]);
  } catch (caught) {
    error = caught;
    if (vs.page !== undefined) await vs.picture(path.join(out, "end.png")).catch(() => undefined);
  } finally {
    clearTimeout(timer);
    await vs.end();
    process.off("SIGTERM", stop).off("SIGINT", stop);
    fs.rmSync(parent, { recursive: true, force: true });
  }

  const seconds = ((Date.now() - begun) / 1000).toFixed(0);
  const passed = vs.steps.filter((each) => each.ok).length;
  const state = error === undefined ? "ok  " : "FAIL";
  console.log(`${state} ${version.padEnd(6)} ${session.name.padEnd(12)} ${String(passed).padStart(3)} steps ${seconds.padStart(4)} s`);
  const log = path.join(out, "steps.log");
  if (verbose && fs.existsSync(log)) console.log(fs.readFileSync(log, "utf8"));
  if (error !== undefined) console.log(`     ${error.message}\n     see ${out}`);
  return error === undefined;
}
