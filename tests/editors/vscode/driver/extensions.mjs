// Folders of installed extensions: made once a run for each set of them, since installing takes a while.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { cleanEnvironment, program } from "./server.mjs";

const made = new Map();

/** The folder in which these .vsix files are installed in the VS Code of `home`, as its own command line does it. */
export function installed(home, vsix) {
  const key = [home, ...vsix].join("\n");
  const known = made.get(key);
  if (known !== undefined) return known;
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "gm-extensions-"));
  const [folder, data] = [path.join(base, "extensions"), path.join(base, "data")];
  const config = path.join(base, "config.yaml");
  fs.writeFileSync(config, "auth: none\ncert: false\n");
  for (const file of vsix) {
    const [node, entry] = program(home);
    const where = ["--config", config, "--user-data-dir", data, "--extensions-dir", folder];
    const done = spawnSync(node, [entry, ...where, "--install-extension", path.resolve(file)], {
      env: { ...cleanEnvironment(), HOME: base, EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }) },
      encoding: "utf8",
      timeout: 180_000,
    });
    const said = `${done.stdout}${done.stderr}`;
    if (done.status !== 0 || !/successfully installed/.test(said)) throw new Error(`${file} was not installed:\n${said}`);
  }
  made.set(key, folder);
  return folder;
}

/** Makes a .vsix of a folder. */
export function packed(folder) {
  const known = made.get(folder);
  if (known !== undefined) return known;
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "gm-vsix-"));
  const file = path.join(base, "extension.vsix");
  const vsce = path.resolve(import.meta.dirname, "..", "..", "..", "..", "node_modules", "@vscode", "vsce", "vsce");
  const options = ["--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", file];
  const done = spawnSync(process.execPath, [vsce, "package", ...options], { cwd: folder, encoding: "utf8", timeout: 120_000 });
  if (done.status !== 0) throw new Error(`no .vsix of ${folder}:\n${done.stdout}${done.stderr}`);
  made.set(folder, file);
  return file;
}

/** Removes all of them. */
export function removeAll() {
  for (const each of made.values()) fs.rmSync(path.dirname(each), { recursive: true, force: true, maxRetries: 5 });
  made.clear();
}
