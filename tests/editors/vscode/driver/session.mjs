// One session: a fresh VS Code with a fresh copy of a workspace, driven step by step, and what is left of it.

import fs from "node:fs";
import path from "node:path";

import { address, launch, remoteUri, workbench } from "./browser.mjs";
import { CodeServer } from "./server.mjs";
import { diskSteps } from "./steps/disk.mjs";
import { editorSteps } from "./steps/editor.mjs";
import { processSteps } from "./steps/processes.mjs";
import { workbenchSteps } from "./steps/workbench.mjs";
import { holds, until } from "./waiting.mjs";

export class Session {
  /**
   * out: the folder of logs, and of pictures of failures.  shots: the folder of pictures, whose names begin with `prefix`.
   * folder: the workspace, used as it is.  The rest as in CodeServer.
   */
  constructor({ home, out, shots, prefix, folder, size = { width: 1280, height: 1200 }, limit = 60_000, ...server }) {
    fs.rmSync(out, { recursive: true, force: true });
    fs.mkdirSync(out, { recursive: true });
    fs.mkdirSync(shots, { recursive: true });
    this.out = out;
    this.shots = shots;
    this.prefix = prefix;
    this.folder = fs.realpathSync(folder);
    this.size = size;
    this.limit = limit;
    this.steps = [];
    this.server = new CodeServer({ home, log: path.join(out, "server.log"), ...server });
  }

  /** Starts the server and the browser, and opens a file. */
  async begin({ payload = () => [], file, prepare }) {
    await this.server.start(this.limit);
    const { context, page } = await launch({
      profile: this.server.profile,
      size: this.size,
      log: path.join(this.out, "browser.log"),
    });
    this.context = context;
    this.page = page;
    await prepare?.(page);
    const all = payload();
    if (file !== undefined) all.push(["openFile", remoteUri(this.server.url, path.join(this.folder, file))]);
    await page.goto(address(this.server.url, this.folder, all));
    await this.ready();
    if (file?.endsWith(".py")) await page.locator(".editor-instance .view-line").first().waitFor({ timeout: this.limit });
  }

  ready() {
    return workbench(this.page, this.limit);
  }

  until(what, test, limit = this.limit) {
    return until(what, test, limit);
  }

  async anyHolds(selector, text) {
    return (await this.page.locator(selector).allTextContents()).some((each) => holds(each, text));
  }

  /** The steps, each of them timed and kept; the first one that fails takes a picture. */
  actor() {
    const steps = {
      ...editorSteps(this),
      ...workbenchSteps(this),
      ...diskSteps(this),
      ...processSteps(this),
      shot: (name) => this.shot(name),
      picture: (name) => this.picture(path.join(this.shots, `${this.prefix}-${name}.png`)),
    };
    const actor = {};
    for (const [name, step] of Object.entries(steps)) {
      actor[name] = (...values) => this.record(name, values, () => step(...values));
    }
    return actor;
  }

  async record(name, values, step) {
    const shown = values.filter((value) => typeof value !== "function").map((value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))));
    const entry = { step: [name, ...shown].join(" "), ok: false };
    const begun = Date.now();
    this.steps.push(entry);
    try {
      const result = await step();
      entry.ok = true;
      return result;
    } catch (error) {
      entry.error = String(error.message ?? error);
      await this.picture(path.join(this.out, "failed.png")).catch(() => undefined);
      throw new Error(`${entry.step}: ${entry.error}`);
    } finally {
      entry.seconds = (Date.now() - begun) / 1000;
      const state = entry.ok ? "ok  " : "FAIL";
      const line = `${state} ${entry.seconds.toFixed(1).padStart(6)} s  ${entry.step}${entry.ok ? "" : `\n     ${entry.error}`}\n`;
      fs.appendFileSync(path.join(this.out, "steps.log"), line);
    }
  }

  shot(name) {
    const number = String(this.steps.filter((each) => each.step.startsWith("shot ")).length).padStart(2, "0");
    return this.picture(path.join(this.shots, `${this.prefix}-${number}-${name}.png`));
  }

  picture(file) {
    return this.page.screenshot({ path: file });
  }

  /** Ends all of it; the logs stay. */
  async end() {
    await this.context?.close().catch(() => undefined);
    await this.server.stop();
    this.server.copyLogs(path.join(this.out, "logs"));
    this.server.remove();
  }

  /** For a process that is being ended. */
  kill() {
    this.server.kill();
    this.server.remove();
  }
}
