/** Asks a command whether it is a Python, and which. */

import { execFile, type ExecFileException } from "node:child_process";
import * as os from "node:os";

import type { Answer, Candidate } from "./interpreter";

export const LIMIT = 15_000;

const CODE = "import sys; print('graphmend', *sys.version_info[:3], sys.executable)";

/** Run it with -I and -S, so that neither the environment nor the folder has a say; from the home folder, lest a shim has. */
export function ask(candidate: Candidate, limit = LIMIT): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const args = [...candidate.args, "-I", "-S", "-c", CODE];
    const options = { timeout: limit, cwd: os.homedir(), windowsHide: true, encoding: "utf8" as const };
    execFile(candidate.command, args, options, (error, stdout, stderr) => {
      const answer = parse(stdout, candidate.command);
      if (answer !== undefined) resolve(answer);
      else if (error?.killed) reject(new Error(`did not answer within ${limit / 1000} s`));
      else if (error !== null) reject(new Error(reason(error, stderr)));
      else reject(new Error("is not a Python"));
    });
  });
}

/** What it printed; a Python without ``sys.executable`` is called by its command. */
export function parse(stdout: string, command: string): Answer | undefined {
  const found = /^graphmend (\d+) (\d+) (\d+) ?(.*)$/m.exec(stdout);
  if (found === null) return undefined;
  const [, major, minor, micro, executable] = found;
  const said = executable?.trim();
  return { executable: said ? said : command, version: [Number(major), Number(minor), Number(micro)] };
}

function reason(error: ExecFileException, stderr: string): string {
  if (error.code === "ENOENT") return "is not there";
  if (error.code === "EACCES") return "may not be started";
  const last = stderr.trim().split(/\r?\n/).at(-1);
  return last ? `cannot be used: ${last}` : `cannot be used (${error.code ?? error.message})`;
}
