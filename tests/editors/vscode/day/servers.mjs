// The life of the server: restart, crash, crash after crash, another interpreter.

import { spawnSync } from "node:child_process";
import path from "node:path";

import { packed } from "../driver/extensions.mjs";

const STANDIN = path.resolve(import.meta.dirname, "..", "standin");

/** An environment without anything in it; its Python is the file that is returned. */
function environment(python, folder) {
  const done = spawnSync(python, ["-m", "venv", "--without-pip", folder], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`no environment: ${done.stderr}`);
  return path.join(folder, "bin", "python");
}

export const server = {
  name: "server",
  file: "router.py",
  async day(vs) {
    await vs.squiggles("warning", 4);
    await vs.servers(1);

    await vs.restarted(() => vs.command("GraphMend: Restart Server"));
    await vs.goto(33, 9);
    await vs.type("print(logits)\n");
    await vs.squiggle("warning", 33);

    // one that is killed comes back by itself, and says nothing
    await vs.restarted(() => vs.killServer());
    await vs.type("print(share)\n");
    await vs.squiggle("warning", 34);
    await vs.notifications();
    await vs.shot("back");

    // one that dies again and again does not, and says so once, with a way out
    for (let i = 0; i < 3; i++) await vs.restarted(() => vs.killServer());
    await vs.killServer();
    await vs.notification("does not stay up");
    await vs.notifications("does not stay up");
    await vs.hasButton("Show Output");
    await vs.servers(0);
    await vs.shot("given-up");
    await vs.answer("Restart");
    await vs.servers(1);
    await vs.type("print(mask)\n");
    await vs.squiggle("warning", 35);
  },
};

export const interpreter = {
  name: "interpreter",
  file: "router.py",
  setUp({ parent, python }) {
    const interpreters = ["one", "two"].map((name) => environment(python, path.join(parent, name)));
    return { vsix: [packed(STANDIN)], settings: { "standin.interpreters": interpreters }, interpreters };
  },
  async day(vs, { set }) {
    const [one, two] = set.interpreters;
    await vs.squiggles("warning", 4);
    await vs.serverRunsOn(one);

    await vs.command("Python: Select Interpreter");
    await vs.pick(two);
    await vs.serverRunsOn(two);
    await vs.servers(1);
    await vs.goto(33, 9);
    await vs.type("print(logits)\n");
    await vs.squiggle("warning", 33);

    await vs.command("GraphMend: Debug Information");
    await vs.shows(`(${two}; from Python extension)`);
    await vs.shows(`python = '${two}'`);
    await vs.shot("switched");
    await vs.notifications();
  },
};
