// Steps on the processes of this session: the language server, and the workers in which the user's code runs.

import fs from "node:fs";

import { commandLine, inGroup, processes } from "../processes.mjs";

export function processSteps(vs) {
  const { pid, extensions } = { pid: vs.server.child.pid, extensions: vs.server.extensions };

  /** In the process group of the VS Code server. */
  const servers = () =>
    processes().filter((each) => inGroup(each, pid) && commandLine(each).some((word) => word.endsWith("bundled/server.py")));
  /** In groups of their own. */
  const workers = () =>
    processes().filter((each) =>
      commandLine(each).some((word) => word.startsWith(extensions) && word.includes("/graphmend_lsp/worker")),
    );
  const written = (file) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "");

  return {
    servers: (count) => vs.until(`${count} language servers`, () => servers().length === count),
    /** A language server runs on this interpreter. */
    serverRunsOn: (python) =>
      vs.until(`a language server on ${python}`, () => servers().some((each) => commandLine(each)[0] === python)),
    /** What is done ends the server that runs, and another one takes its place. */
    async restarted(does) {
      const [old] = await vs.until("a language server", () => servers().length === 1 && servers());
      await does();
      await vs.until("another language server", () => servers().length === 1 && servers()[0] !== old);
    },
    /** Ends the language server of this session, as a crash would. */
    async killServer() {
      const [old] = await vs.until("a language server", () => servers().length === 1 && servers());
      process.kill(old, "SIGKILL");
      await vs.until("it to be gone", () => !servers().includes(old));
    },
    workers: (which) => vs.until(`${which} workers`, () => (which === "none") === (workers().length === 0)),
    /** A program that leaves a trace has been started, or not. */
    started: (trace) => vs.until(`something in ${trace}`, () => written(trace) !== ""),
    notStarted(trace) {
      if (written(trace) !== "") throw new Error(`it was started: ${written(trace)}`);
    },
  };
}
