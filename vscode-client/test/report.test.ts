import { beforeEach, expect, test, vi } from "vitest";

import { page, POLICY, title } from "../src/page";
import { isReport, Reports } from "../src/report";
import { panels, reset } from "./vscode";

beforeEach(reset);

const html =
  '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Net&lt;1&gt; &amp;amp; co</title>\n' +
  "<style>:root { --page: #fff; --g0: #abc; }\n" +
  "@media screen and (prefers-color-scheme: dark) { :root { --page: #111;\n --g0: #123; } }</style>\n" +
  "</head>\n<body>text</body>\n</html>\n";

const params = (uri: string, external = true) => ({ uri, external });
const next = vi.fn(async () => ({ success: true }));
const show = (reports: Reports, uri: string, external = true) =>
  reports.middleware(params(uri, external), {} as never, next as never);

test("pages on disk that are to be opened outside are ours, anything else is not", () => {
  expect(isReport(params("file:///cache/a.html"))).toBe(true);
  expect(isReport(params("file:///cache/a.html", false))).toBe(false);
  expect(isReport({ uri: "file:///cache/a.html" })).toBe(false);
  expect(isReport(params("file:///cache/a.py"))).toBe(false);
  expect(isReport(params("https://example.org/a.html"))).toBe(false);
});

test("a report is shown in a panel in which nothing can run or be loaded", async () => {
  const reports = new Reports(vi.fn(), async () => html);
  expect(await show(reports, "file:///cache/a.html")).toEqual({ success: true });
  expect(next).not.toHaveBeenCalled();
  expect(panels).toHaveLength(1);
  expect(panels[0]?.options).toMatchObject({
    enableScripts: false,
    enableForms: false,
    enableCommandUris: false,
    localResourceRoots: [],
  });
  expect(panels[0]?.title).toBe("Net<1> &amp; co");
  expect(panels[0]?.webview.html).toContain("text");
});

test("the same report again is shown where it is, as it is now; another one beside it", async () => {
  const read = vi.fn(async (file: string) => `<head><title>${file}</title></head>`);
  const reports = new Reports(vi.fn(), read);
  await show(reports, "file:///cache/a.html");
  read.mockResolvedValueOnce("<head><title>new</title></head>");
  await show(reports, "file:///cache/a.html");
  expect(panels).toHaveLength(1);
  expect(panels[0]?.title).toBe("new");
  expect(panels[0]?.reveal).toHaveBeenCalledTimes(2);
  await show(reports, "file:///cache/b.html");
  expect(panels).toHaveLength(2);
});

test("a panel that was closed is opened again", async () => {
  const reports = new Reports(vi.fn(), async () => html);
  await show(reports, "file:///cache/a.html");
  panels[0]?.dispose();
  await show(reports, "file:///cache/a.html");
  expect(panels).toHaveLength(2);
});

test("what is not ours goes its usual way", async () => {
  const reports = new Reports(vi.fn(), async () => html);
  await show(reports, "file:///ws/model.py", false);
  expect(next).toHaveBeenCalledOnce();
  expect(panels).toHaveLength(0);
});

test("a report that cannot be read is not shown, and the server hears so", async () => {
  const log = vi.fn();
  const reports = new Reports(log, async () => Promise.reject(new Error("ENOENT")));
  expect(await show(reports, "file:///cache/a.html")).toEqual({ success: false });
  expect(log).toHaveBeenCalledWith("the report cannot be read: Error: ENOENT");
  expect(panels).toHaveLength(0);
});

test("the policy stands before anything that it must hold for", () => {
  const made = page(html);
  expect(made).toContain(`<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  expect(made.indexOf(POLICY)).toBeLessThan(made.indexOf("<title>"));
  expect(made.indexOf(POLICY)).toBeLessThan(made.indexOf("<style>"));
  expect(POLICY).toMatch(/^default-src 'none'; style-src 'unsafe-inline';/);
});

test.each(["no page at all", "<p>text</p>", "<script>alert(1)</script>"])("%s gets the policy, too", (text) => {
  const made = page(text);
  expect(made.indexOf(POLICY)).toBeGreaterThan(0);
  expect(made.indexOf(POLICY)).toBeLessThan(made.indexOf(text));
});

test("the page's own light and dark colours follow the editor's theme", () => {
  const style = /<style>(body\.vscode-light[^]*?)<\/style>/.exec(page(html))?.[1] ?? "";
  const [light = "", dark = ""] = style.split("\n");
  expect(light).toMatch(/^body\.vscode-light, .*--g0: #abc;.*--page: var\(--vscode-editor-background\)/);
  expect(dark).toMatch(/^body\.vscode-dark, /);
  expect(style).toContain("--g0: #123;");
});

test("a page without a title has one", () => {
  expect(title("<p>")).toBe("GraphMend");
});
