// A VS Code server (code-server) with a profile of its own, which goes when it stops.

import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

import { until } from "./waiting.mjs";

// What would hide the things to be seen, ask for a network, or come at its own time.
const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "workbench.reduceMotion": "on",
  "workbench.colorTheme": "Default Dark Modern",
  "chat.disableAIFeatures": true,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "files.autoSave": "off",
  "editor.accessibilitySupport": "off",
  "editor.inlayHints.enabled": "on",
  "editor.minimap.enabled": false,
  "editor.stickyScroll.enabled": false, // it hides lines
  "editor.hover.delay": 100,
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
};

/** Node and code-server of one version. */
export const program = (home) => [
  path.join(home, "node", "bin", "node"),
  path.join(home, "code-server", "node_modules", "code-server", "out", "node", "entry.js"),
];

/** This process's environment without what would reach into the editor, or choose a Python in it. */
export function cleanEnvironment() {
  const foreign = /^(VSCODE_|ELECTRON_|CODE_SERVER_|XDG_|PYTHON|VIRTUAL_ENV|CONDA)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

const signalGroup = (pid, signal) => {
  try {
    process.kill(-pid, signal);
  } catch {
    // It has gone already.
  }
};

export class CodeServer {
  /**
   * home: the folder of one version, as install.sh makes it.  extensions: that of what is installed.  settings: over the ones
   * above.  env: over this process's.  trust: true turns workspace trust on; a folder is then untrusted until the user says
   * otherwise.
   */
  constructor({ home, extensions, log, settings = {}, env = {}, trust = false }) {
    this.program = program(home);
    this.extensions = extensions;
    this.log = log;
    // In the temporary folder: the path of a socket in it may have about a hundred characters.
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "gm-vscode-"));
    this.trust = trust;
    this.env = env;
    this.settings = { ...SETTINGS, "security.workspace.trust.enabled": trust, ...settings };
    if (trust) this.settings["security.workspace.trust.startupPrompt"] = "never";
    for (const name of ["data/User", "data/Machine", "home"]) {
      fs.mkdirSync(path.join(this.profile, name), { recursive: true });
    }
    fs.writeFileSync(path.join(this.profile, "config.yaml"), "auth: none\ncert: false\n");
    this.writeSettings();
  }

  /** Merges into the user's settings; the editor takes them up itself. */
  change(settings) {
    Object.assign(this.settings, settings);
    this.writeSettings();
    // on a busy machine the editor misses one of two changes in a row: what it has read already it does not mind
    for (const delay of [2_000, 8_000]) setTimeout(() => this.writeSettings(), delay).unref();
  }

  // The workbench runs in a browser and extensions on a "remote": settings of scope machine and machine-overridable (a
  // program's path) are read from the remote machine's file, all others from the user's.
  writeSettings() {
    for (const name of ["User", "Machine"]) {
      const folder = path.join(this.profile, "data", name);
      if (!fs.existsSync(folder)) return; // the session is over
      fs.writeFileSync(path.join(folder, "settings.json"), JSON.stringify(this.settings, null, 2));
    }
  }

  environment() {
    return {
      ...cleanEnvironment(),
      HOME: path.join(this.profile, "home"),
      EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }), // there is no network to reach one
      VSCODE_CLI: "1", // else it runs the user's login shell for the environment, and PATH is not the one given here
      GRAPHMEND_CACHE_DIR: path.join(this.profile, "cache"),
      ...this.env,
    };
  }

  arguments(port) {
    return [
      ...this.program.slice(1),
      ...["--config", path.join(this.profile, "config.yaml")],
      ...["--bind-addr", `127.0.0.1:${port}`],
      ...["--auth", "none"],
      ...["--user-data-dir", path.join(this.profile, "data")],
      ...["--extensions-dir", this.extensions],
      "--disable-telemetry",
      "--disable-update-check",
      "--disable-getting-started-override",
      ...(this.trust ? [] : ["--disable-workspace-trust"]),
    ];
  }

  async start(limit) {
    const port = await freePort();
    const log = fs.openSync(this.log, "a");
    // A process group of its own, so that the extension host ends with it.
    this.child = spawn(this.program[0], this.arguments(port), {
      env: this.environment(),
      stdio: ["ignore", log, log],
      detached: true,
    });
    fs.closeSync(log);
    this.url = `http://127.0.0.1:${port}/`;
    const health = new URL("healthz", this.url);
    await until(
      "code-server to answer",
      () => {
        if (this.ended()) throw new Error(`code-server ended with ${this.child.exitCode}; has been closed`);
        return fetch(health).then((answer) => answer.ok);
      },
      limit,
    );
  }

  ended() {
    return this.child === undefined || this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Ends it at once; for a process that is itself being ended. */
  kill() {
    if (this.child?.pid !== undefined) signalGroup(this.child.pid, "SIGKILL");
  }

  async stop() {
    if (this.child?.pid !== undefined) {
      signalGroup(this.child.pid, "SIGTERM");
      await until("code-server to end", () => this.ended(), 5000).catch(() => undefined);
      this.kill();
    }
  }

  /** The editor's own logs, the output channels of extensions among them. */
  copyLogs(to) {
    const logs = path.join(this.profile, "data", "logs");
    if (fs.existsSync(logs)) fs.cpSync(logs, to, { recursive: true, force: true });
  }

  remove() {
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
