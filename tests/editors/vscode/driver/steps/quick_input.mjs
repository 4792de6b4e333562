// VS Code's quick input: the palette, Quick Open, Go to Line and the pickers of commands.

import { holds } from "../waiting.mjs";

export function quickInput(vs) {
  const { page } = vs;
  const box = () => page.locator(".quick-input-widget").filter({ visible: true });
  const closed = () => vs.until("the quick input to close", async () => (await box().count()) === 0);

  /** Opens it by a key and writes; a view that takes the focus late closes it, so it is opened until `then` is done. */
  async function open(key, text, then) {
    await vs.until(`${text} in the quick input`, async () => {
      if ((await box().count()) === 0) {
        await page.keyboard.press(key);
        await box().waitFor({ timeout: 3000 });
      }
      const input = box().locator(".quick-input-filter input").first();
      // The key's own prefix, such as > of the palette, stays before the text.
      const prefix = /^[>:@#?]?/.exec(await input.inputValue({ timeout: 1000 }))[0];
      await input.fill(`${prefix}${text}`, { timeout: 1000 });
      return then(input);
    });
    await closed();
  }

  /** Moves to the row with a text and takes it by Enter: rows move under a click while results come in. */
  async function take(row) {
    const list = box().locator(".quick-input-list .monaco-list-row");
    const wanted = list.filter({ hasText: row }).first();
    await wanted.waitFor({ timeout: 4000 });
    for (let i = 0; i < 40; i++) {
      const focused = box().locator(".quick-input-list .monaco-list-row.focused").first();
      if (holds(await focused.textContent({ timeout: 1000 }), row)) {
        await page.keyboard.press("Enter");
        return true;
      }
      await page.keyboard.press("ArrowDown");
    }
    return false;
  }

  return {
    /** A row of the quick input that a key opens. */
    choose: (key, text, row) => open(key, text, () => take(row)),
    /** Text and Enter. */
    enter: (key, text) => open(key, text, (input) => input.press("Enter", { timeout: 1000 }).then(() => true)),
    /** A row of a picker that is or will be open. */
    async pick(row) {
      await vs.until(`${row} to pick`, () => take(row));
    },
    closed,
  };
}
