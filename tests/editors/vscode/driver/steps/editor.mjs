// Steps in a text editor.

import path from "node:path";

import * as drawn from "../drawn.mjs";
import { holds, plain } from "../waiting.mjs";
import { quickInput } from "./quick_input.mjs";

const MENU = ".action-widget .monaco-list-row.action";
const ACTIVE = ".editor-group-container.active .editor-container .monaco-editor";

const at = (line) => (line === undefined ? "" : ` at line ${line}`);

export function editorSteps(vs) {
  const { page } = vs;
  const quick = quickInput(vs);
  const menuRows = () => page.locator(MENU).filter({ visible: true });

  const isNotebook = async () => (await page.locator(".tab.active[data-resource-name$='.ipynb']").count()) > 0;

  /** In a notebook the caret stays in its cell. */
  async function focus() {
    if (await isNotebook()) return;
    await page.locator(`${ACTIVE} .native-edit-context, ${ACTIVE} textarea.inputarea`).first().focus();
  }

  /** The row of the menu of quick fixes at the caret. */
  async function openMenu(title) {
    const row = menuRows().filter({ hasText: title }).first();
    await vs.until(`the quick fix ${title}`, async () => {
      // Not while it is open: to focus the editor closes it a moment later.
      if (await row.isVisible()) return true;
      if (!(await isNotebook())) await page.keyboard.press("Escape"); // there it would leave the cell
      await focus();
      await page.keyboard.press("Control+.");
      await menuRows().first().waitFor({ timeout: 3000 });
      return row.isVisible();
    });
    return row;
  }

  const some = (what, kind) => (part, line) =>
    vs.until(`the ${what} ${part}${at(line)}`, async () => (await drawn.found(page, kind, part, line)).length > 0);
  const none = (what, kind) => (part, line) =>
    vs.until(`no ${what} ${part}${at(line)}`, async () => (await drawn.found(page, kind, part, line)).length === 0);

  return {
    focus,

    async open(name) {
      const title = path.basename(name);
      await quick.choose("Control+P", name, title);
      await vs.until(`a tab ${title}`, () => vs.anyHolds(".tabs-container .tab.active", title));
      if (!title.endsWith(".ipynb")) await vs.until("the editor's focus", () => focus().then(() => true));
    },

    async goto(line, column = 1) {
      await focus();
      await quick.enter("Control+G", `${line}:${column}`);
      await focus();
    },

    /** Scrolls until a line is the first one in view; the caret stays where it is. */
    async top(line) {
      await focus();
      await vs.until(`line ${line} on top`, async () => {
        const shown = (await drawn.lines(page)).map((each) => each.line).filter((each) => each > 0);
        const away = line - Math.min(...shown);
        for (let i = 0; i < Math.abs(away); i++) await page.keyboard.press(away > 0 ? "Control+ArrowDown" : "Control+ArrowUp");
        return away === 0;
      });
    },

    /** Puts the caret into a cell of a notebook, on the last word of a text. */
    async cell(text) {
      await page.locator(".notebookOverlay .view-line span span").filter({ hasText: text }).last().click({ timeout: vs.limit });
    },

    key: (chord) => page.keyboard.press(chord),

    async type(text) {
      await focus();
      await page.keyboard.type(text, { delay: 15 });
    },

    async save() {
      await focus();
      await page.keyboard.press("Control+S");
      await vs.until("the file to be saved", async () => (await page.locator(".tab.active.dirty").count()) === 0);
    },

    /** Takes the last change back, which brought `text`; where it reached several files, in all of them. */
    async undo(text) {
      const button = page.locator(".monaco-dialog-box .monaco-button").filter({ hasText: /^Undo in/ });
      await focus();
      await page.keyboard.press("Control+Z");
      await vs.until(`${text} to be gone`, async () => {
        if ((await button.count()) > 0) await button.first().click({ timeout: 2000 });
        return !holds(await drawn.text(page), text);
      });
    },

    squiggle: (kind, line) => some("squiggle", "squiggles")(kind, line),
    noSquiggle: (kind, line) => none("squiggle", "squiggles")(kind, line),
    squiggles: (kind, count) =>
      vs.until(`${count} squiggles of kind ${kind}`, async () => {
        return (await drawn.found(page, "squiggles", kind)).length === count;
      }),

    lens: some("code lens", "lenses"),
    noLens: none("code lens", "lenses"),
    inlay: some("inlay hint", "inlays"),
    noInlay: none("inlay hint", "inlays"),

    shows: (text) => vs.until(`${text} in the editor`, async () => holds(await drawn.text(page), text)),
    showsNot: (text) => vs.until(`no ${text} in the editor`, async () => !holds(await drawn.text(page), text)),

    async hover(text) {
      await focus();
      await vs.until(`a hover with ${text}`, async () => {
        if (await vs.anyHolds(".monaco-hover", text)) return true;
        await page.keyboard.press("Control+K");
        await page.keyboard.press("Control+I");
        await page.locator(".monaco-hover").filter({ visible: true, hasText: text }).first().waitFor({ timeout: 3000 });
        return vs.anyHolds(".monaco-hover", text);
      });
    },

    async menu(title) {
      await openMenu(title);
    },

    async menuLacks(shown, title) {
      await openMenu(shown);
      const rows = (await menuRows().allTextContents()).map(plain);
      if (rows.some((row) => holds(row, title))) throw new Error(`the menu has ${title}: ${rows.join("; ")}`);
    },

    /** By keys: while the menu is open, older versions of VS Code swallow clicks. */
    async quickfix(title) {
      await vs.until(`${title} to be chosen`, async () => {
        const row = await openMenu(title);
        for (let i = 0; i < 40; i++) {
          if (/\bfocused\b/.test(await row.getAttribute("class", { timeout: 2000 }))) {
            await page.keyboard.press("Enter");
            return true;
          }
          await page.keyboard.press("ArrowDown");
        }
        return false;
      });
      await vs.until("the menu to close", async () => (await menuRows().count()) === 0);
    },

    async clickLens(part, line) {
      const link = await vs.until(`the code lens ${part}${at(line)}`, async () => {
        if ((await drawn.found(page, "lenses", part, line)).length === 0) return undefined;
        const links = await page.locator(".codelens-decoration a").filter({ hasText: part, visible: true }).all();
        if (line === undefined) return links[0];
        const number = page.locator(".margin-view-overlays .line-numbers").filter({ hasText: new RegExp(`^${line}$`) });
        const { y } = await number.first().boundingBox();
        for (const each of links) {
          const box = await each.boundingBox();
          if (Math.abs(box.y + box.height - y) < box.height) return each;
        }
        return undefined;
      });
      await link.click({ timeout: vs.limit });
    },
  };
}
