/** The server's standard error, line by line, at the levels of VS Code's log. */

export type Level = "debug" | "info" | "warn" | "error";

const PREFIXES: Readonly<Record<string, Level>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "error",
};

/** The level that a line begins, as Python's logging and tracebacks write them; undefined for one that goes on. */
export function levelOf(line: string): Level | undefined {
  if (line.startsWith("GraphMend: ")) return "info"; // bundled/server.py
  const prefix = /^([A-Z]+):/.exec(line)?.[1];
  if (prefix !== undefined && prefix in PREFIXES) return PREFIXES[prefix];
  if (/^(Traceback \(most recent call last\)|Internal error in GraphMend|Fatal Python error)/.test(line)) return "error";
  return undefined;
}
