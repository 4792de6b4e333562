// What the text editors in view draw.

import { holds, plain } from "./waiting.mjs";

/**
 * Line by line, from the top: {line, text, inlays, lenses, squiggles}.
 *
 * Lines, squiggles and line numbers stand apart in the page and are put together by their height; a code lens lies just above its
 * line.  Inlay hints are spans in the line whose class is a rule made at run time; the parts of one lie side by side.  A cell of a
 * notebook is an editor as well; its lines begin with 1 again.
 */
export const lines = (page) =>
  page.evaluate(() => {
    const result = [];
    for (const editor of document.querySelectorAll(".monaco-workbench .part.editor .monaco-editor, .notebookOverlay .cell .monaco-editor")) {
      if (editor.closest(".monaco-hover, .zone-widget, .in-memory-text-model") !== null) continue;
      const boxes = (selector) =>
        [...editor.querySelectorAll(selector)].map((node) => ({ node, box: node.getBoundingClientRect() }));
      const numbers = boxes(".margin-view-overlays .line-numbers");
      const marks = boxes(".view-overlays .cdr");
      const lenses = boxes(".codelens-decoration").filter(({ box }) => box.height > 0);
      for (const { node, box } of boxes(".view-lines .view-line")) {
        const same = (other) => Math.abs(other.box.top - box.top) < box.height / 2;
        const inlays = [];
        let last = null;
        for (const span of node.querySelectorAll('span[class*="dyn-rule"]')) {
          if (last !== null && span.previousElementSibling === last) inlays.push(inlays.pop() + span.textContent);
          else inlays.push(span.textContent);
          last = span;
        }
        result.push({
          line: Number(numbers.find(same)?.node.textContent),
          text: node.textContent,
          inlays,
          lenses: lenses.filter((l) => Math.abs(l.box.bottom - box.top) < box.height / 2).map((l) => l.node.textContent),
          squiggles: marks
            .filter((mark) => mark.box.top >= box.top - 2 && mark.box.top < box.bottom)
            .map((mark) => /squiggly-(\w+)/.exec(mark.node.className)?.[1])
            .filter(Boolean),
          top: box.top,
        });
      }
    }
    return result.sort((a, b) => a.top - b.top);
  });

export const text = async (page) => (await lines(page)).map((each) => plain(each.text)).join("\n");

/** The inlays, lenses or squiggles that hold `part`, of one line or of all in view. */
export async function found(page, kind, part, line) {
  const all = (await lines(page)).filter((each) => line === undefined || each.line === line);
  return all.flatMap((each) => each[kind]).filter((each) => holds(each, part));
}
