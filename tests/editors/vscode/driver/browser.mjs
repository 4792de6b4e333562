// The workbench of a VS Code server in Chromium.

import fs from "node:fs";
import path from "node:path";

import { chromium } from "playwright-core";

export async function launch({ profile, size, log, executable = "/usr/bin/chromium" }) {
  const context = await chromium.launchPersistentContext(path.join(profile, "browser"), {
    executablePath: executable,
    headless: true,
    viewport: size,
    permissions: ["clipboard-read", "clipboard-write"],
    args: [
      "--headless=new",
      "--no-sandbox", // root may not use it
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const out = fs.createWriteStream(log);
  page.on("console", (message) => out.write(`${message.type()}: ${message.text()}\n`));
  page.on("pageerror", (error) => out.write(`pageerror: ${error.stack}\n`));
  return { context, page };
}

/** The address of a folder's workbench; `payload` holds what the page takes beside it. */
export function address(url, folder, payload) {
  const target = new URL(url);
  target.searchParams.set("folder", folder);
  if (payload.length > 0) target.searchParams.set("payload", JSON.stringify(payload));
  return target.href;
}

export const remoteUri = (url, file) => `vscode-remote://${new URL(url).host}${file}`;

export async function workbench(page, limit) {
  await page.locator(".monaco-workbench").waitFor({ timeout: limit });
  await page.locator(".statusbar-item").first().waitFor({ timeout: limit });
}

/**
 * A built VS Code takes the path of tests from the address only where the page's configuration says that the smoke test driver
 * is on.  To change the page on its way would make Chromium bar it from the local network, and so from its own server.
 */
export const allowExtensionTests = (page) =>
  page.addInitScript(() => {
    const original = Element.prototype.getAttribute;
    Element.prototype.getAttribute = function (name) {
      const value = original.call(this, name);
      if (this.id !== "vscode-workbench-web-configuration" || name !== "data-settings" || !value) return value;
      const config = JSON.parse(value);
      config.developmentOptions = { ...config.developmentOptions, enableSmokeTestDriver: true };
      return JSON.stringify(config);
    };
  });
