/** Which Python runs the server, and which one the user's code. Nothing here starts a process: ``ask`` does. */

import * as path from "node:path";

export const OLDEST: readonly [number, number] = [3, 10];

/** A command that may be a Python, and where it was found, in words. */
export interface Candidate {
  readonly command: string;
  readonly args: readonly string[];
  readonly source: string;
}

/** What an interpreter says of itself. */
export interface Answer {
  readonly executable: string;
  readonly version: readonly [number, number, number];
}

export interface Interpreter extends Answer {
  readonly source: string;
}

export interface Rejected {
  readonly command: string;
  readonly source: string;
  readonly version?: string;
  readonly reason: string;
}

/** ``server`` is absent where no candidate will do. */
export interface Choice {
  readonly server?: Interpreter;
  readonly rejected: readonly Rejected[];
}

/** Asks a command for its version; rejects with the reason where it is no Python. */
export type Ask = (candidate: Candidate) => Promise<Answer>;

export interface Places {
  /** The setting, "" where there is none. */
  readonly setting: string;
  /** The executable of the Python extension's active environment. */
  readonly active: string | undefined;
  readonly folders: readonly string[];
  /** ``PATH``, split. */
  readonly path: readonly string[];
  readonly trusted: boolean;
  readonly windows: boolean;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  exists(file: string): boolean;
  /** The file behind symbolic links; itself where there is none. */
  real(file: string): string;
}

export function isNewEnough(version: readonly number[]): boolean {
  const [major = 0, minor = 0] = version;
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** A setting with its variables filled in. */
export function expand(text: string, places: Pick<Places, "folders" | "home" | "env">): string {
  const [folder = places.home] = places.folders;
  const filled = text
    .trim()
    .replaceAll("${workspaceFolder}", folder)
    .replaceAll("${userHome}", places.home)
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => places.env[name] ?? "");
  return filled === "~" || /^~[\\/]/.test(filled) ? places.home + filled.slice(1) : filled;
}

/** All that may be tried, best first. In a workspace that is not trusted, nothing that is in it or named by it. */
export function candidates(places: Places): Candidate[] {
  const found: Candidate[] = [];
  const add = (source: string, command: string, ...args: string[]): void => {
    const same = (each: Candidate): boolean => each.command === command && each.args.join() === args.join();
    if (!found.some(same)) found.push({ command, args, source });
  };
  const setting = expand(places.setting, places);
  if (setting !== "") {
    const named = inSetting(setting, places);
    if (places.trusted || !isInside(named, places)) add("setting graphmend.interpreter", named);
  }
  if (places.trusted) {
    if (places.active !== undefined) add("Python extension", places.active);
    for (const folder of places.folders) {
      for (const name of [".venv", "venv"]) {
        const file = inEnvironment(path.join(folder, name), places);
        if (places.exists(file)) add(`${name} of the workspace`, file);
      }
    }
  }
  for (const name of namesOnPath(places.windows)) {
    const file = which(name, places);
    if (file !== undefined) add("PATH", file, ...(name === "py" ? ["-3"] : []));
  }
  return found;
}

/** Where candidates are looked for, in words. */
export function searched(places: Places): string[] {
  const venvs = places.folders.flatMap((folder) => [path.join(folder, ".venv"), path.join(folder, "venv")]);
  return [
    ...(places.setting.trim() === "" ? [] : ["the setting graphmend.interpreter"]),
    ...(places.trusted ? ["the Python extension", ...venvs] : ["(not in the workspace, which is not trusted)"]),
    ...places.path,
  ];
}

/** The first candidate that is Python and new enough; candidates after it are not started. */
export async function choose(all: readonly Candidate[], ask: Ask): Promise<Choice> {
  const rejected: Rejected[] = [];
  for (const candidate of all) {
    const { command, source } = candidate;
    try {
      const answer = await ask(candidate);
      if (isNewEnough(answer.version)) return { server: { ...answer, source }, rejected };
      const version = answer.version.join(".");
      rejected.push({ command, source, version, reason: `is Python ${version}, which is too old` });
    } catch (error) {
      rejected.push({ command, source, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { rejected };
}

/** An interpreter in one line. */
export function describe(interpreter: Interpreter): string {
  return `Python ${interpreter.version.join(".")} (${interpreter.executable}; from ${interpreter.source})`;
}

function namesOnPath(windows: boolean): string[] {
  if (windows) return ["python", "python3", "py"];
  return ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
}

function inEnvironment(environment: string, places: Pick<Places, "windows">): string {
  return places.windows
    ? path.join(environment, "Scripts", "python.exe")
    : path.join(environment, "bin", "python");
}

/** The file that the setting means: never a bare name, for which the system would search folders that are passed over here. */
function inSetting(setting: string, places: Places): string {
  const onPath = /[\\/]/.test(setting) ? undefined : which(setting, places);
  if (onPath !== undefined) return onPath;
  const [folder = places.home] = places.folders;
  const file = path.resolve(folder, setting);
  const inside = inEnvironment(file, places);
  return places.exists(inside) ? inside : file;
}

/** Where a command is on ``PATH``. Relative parts of it are passed over: they mean whatever folder one is in. */
function which(name: string, places: Places): string | undefined {
  const names = places.windows && !/\.\w+$/.test(name) ? [`${name}.exe`] : [name];
  for (const folder of places.path) {
    if (!path.isAbsolute(folder) || (!places.trusted && isInside(folder, places))) continue;
    for (const each of names) {
      const file = path.join(folder, each);
      if (places.exists(file)) return file;
    }
  }
  return undefined;
}

function isInside(file: string, places: Pick<Places, "folders" | "real">): boolean {
  const files = [file, places.real(file)];
  const folders = places.folders.flatMap((folder) => [folder, places.real(folder)]);
  return files.some((each) => folders.some((folder) => holds(folder, each)));
}

function holds(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative));
}
