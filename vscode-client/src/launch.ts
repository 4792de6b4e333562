/** The command line of the server. */

import * as os from "node:os";
import * as path from "node:path";

import type { Interpreter } from "./interpreter";
import type { Command } from "./session";
import type { ImportStrategy } from "./settings";

/** The flags are those that the head of bundled/server.py asks for. */
export function serverCommand(extension: string, interpreter: Interpreter, strategy: ImportStrategy): Command {
  const script = path.join(extension, "bundled", "server.py");
  return {
    command: interpreter.executable,
    args: ["-I", "-S", script, "--import-strategy", strategy, "--stdio"],
    // not the workspace: the server needs nothing of it, and Windows would neither move nor delete it
    cwd: os.homedir(),
  };
}
