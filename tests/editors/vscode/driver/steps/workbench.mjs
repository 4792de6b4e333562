// Steps around the editor: commands, panels, messages, the status bar, webviews.

import { holds, squash } from "../waiting.mjs";
import { quickInput } from "./quick_input.mjs";

const NOTE = ".notifications-toasts .notification-list-item";
const BUTTONS = `${NOTE} .monaco-button, .monaco-dialog-box .monaco-button, .bulk-edit-panel .monaco-button`;
const PROBLEM = ".markers-panel .monaco-list-row";
const PANES = [
  [".part.sidebar", "Control+B"],
  [".part.panel", "Control+J"],
  [".part.auxiliarybar", "Control+Alt+B"],
];

export function workbenchSteps(vs) {
  const { page } = vs;
  const quick = quickInput(vs);

  async function showProblems() {
    if ((await page.locator(".markers-panel").filter({ visible: true }).count()) === 0) {
      await page.keyboard.press("Control+Shift+M");
    }
    await page.locator(".markers-panel").filter({ visible: true }).first().waitFor({ timeout: vs.limit });
  }

  return {
    command: (title) => quick.choose("F1", title, title),
    pick: (row) => quick.pick(row),

    async problems(text) {
      await showProblems();
      await vs.until(`the problem ${text}`, () => vs.anyHolds(PROBLEM, text));
    },
    async noProblems(text) {
      await showProblems();
      await vs.until(`no problem ${text}`, async () => !(await vs.anyHolds(PROBLEM, text)));
    },

    notification: (text, limit) => vs.until(`the notification ${text}`, () => vs.anyHolds(NOTE, text), limit),
    noNotification: (text, limit) =>
      vs.until(`no notification ${text}`, async () => !(await vs.anyHolds(NOTE, text)), limit),
    /** Exactly these are open, each holding its text. */
    notifications: (...texts) =>
      vs.until(`the notifications ${texts.join("; ")} alone`, async () => {
        const shown = await page.locator(NOTE).allTextContents();
        return shown.length === texts.length && texts.every((text) => shown.some((one) => holds(one, text)));
      }),
    /** A button of a notification, a dialog or the preview of a refactoring. */
    async answer(button) {
      await page.locator(BUTTONS).filter({ hasText: button }).first().click({ timeout: vs.limit });
    },
    async hasButton(button) {
      await page.locator(BUTTONS).filter({ hasText: button }).first().waitFor({ timeout: vs.limit });
    },
    async dismiss() {
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      const close = page.locator(`${NOTE} .codicon-notifications-clear`);
      await vs.until("no notification", async () => {
        if ((await close.count()) === 0) return true;
        await page.locator(NOTE).first().hover({ timeout: 2000 });
        await close.first().click({ timeout: 2000 });
        return (await close.count()) === 0;
      });
    },
    /** The X of a progress notification. */
    async cancel(text) {
      const note = page.locator(NOTE).filter({ hasText: text }).first();
      await note.waitFor({ timeout: vs.limit });
      await note.locator(".monaco-button").filter({ hasText: "Cancel" }).first().click({ timeout: vs.limit });
    },

    status: (text) => vs.until(`${text} in the status bar`, () => vs.anyHolds(".statusbar-item", text)),
    statusTip: (text) =>
      vs.until(`${text} in the status bar's texts`, async () => {
        const tips = page.locator(".statusbar-item [aria-label], .statusbar-item[aria-label]");
        const labels = await tips.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label")));
        return labels.some((label) => holds(label, text));
      }),
    async clickStatus(text) {
      await page.locator(".statusbar-item").filter({ hasText: text }).first().click({ timeout: vs.limit });
    },

    outputHas: (text) =>
      vs.until(`${text} in the output`, () => vs.anyHolds(".part.panel .monaco-editor .view-line", text)),
    async showPanel() {
      if ((await page.locator(".part.panel").filter({ visible: true }).count()) === 0) {
        await page.keyboard.press("Control+J");
      }
    },

    tab: (title) => vs.until(`a tab ${title}`, () => vs.anyHolds(".tabs-container .tab.active", title)),
    see: (selector, text) => vs.until(`${selector} ${text ?? ""}`, () => vs.anyHolds(selector, text ?? "")),
    async click(selector, text) {
      const all = page.locator(selector).filter({ visible: true, ...(text === undefined ? {} : { hasText: text }) });
      await all.first().click({ timeout: vs.limit });
    },

    webview: (text, limit) =>
      vs.until(
        `${text} in a webview`,
        async () => {
          for (const frame of page.frames()) {
            if (frame === page.mainFrame()) continue;
            const body = await frame.locator("body").innerText({ timeout: 1000 }).catch(() => "");
            if (squash(body).includes(squash(text))) return true;
          }
          return false;
        },
        limit,
      ),

    /** Scrolls the webview that shows exactly this text until it stands at the top. */
    async webviewAt(text) {
      await vs.until(`${text} in a webview`, async () => {
        for (const frame of page.frames().filter((each) => each !== page.mainFrame())) {
          const place = frame.getByText(text, { exact: true }).first();
          if ((await place.count()) === 0) continue;
          await place.evaluate((node) => node.scrollIntoView());
          return true;
        }
        return false;
      });
    },

    async reload() {
      await page.reload();
      await vs.ready();
    },
    /** More room: side bar, panel and second side bar go. */
    async panes() {
      for (const [part, key] of PANES) {
        await vs.until(`${part} to close`, async () => {
          if ((await page.locator(part).filter({ visible: true }).count()) === 0) return true;
          await page.keyboard.press(key);
          return false;
        });
      }
    },
    size: (width, height) => page.setViewportSize({ width, height }),
  };
}
