/** Makes the page of a report fit for a webview: nothing may be fetched or run, and it looks like the editor. */

export const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

const HEAD = `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`;

/**
 * The page with a policy of ours before anything else (policies add up: none can widen another) and with the theme's
 * colours. The page itself knows light and dark by the system's preference, which need not be the editor's theme.
 */
export function page(html: string): string {
  const style = `<style>${theme(html)}</style>`;
  const head = /<head[^>]*>/i.exec(html);
  if (head === null) return `<!DOCTYPE html><html><head>${HEAD}${style}</head><body>${html}</body></html>`;
  const end = head.index + head[0].length;
  const rest = html.slice(end);
  const close = rest.search(/<\/head>/i);
  const themed = close < 0 ? style + rest : rest.slice(0, close) + style + rest.slice(close);
  return html.slice(0, end) + HEAD + themed;
}

/** The title of its tab. */
export function title(html: string): string {
  const text = /<title>([^<]*)<\/title>/i.exec(html)?.[1]?.trim() ?? "";
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#x27": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#x27|amp);/g, (whole, name: string) => names[name] ?? whole) || "GraphMend";
}

/** Its own light and dark colours by the class that VS Code puts on the body, under what the theme itself says. */
function theme(html: string): string {
  const variables = (found: RegExpExecArray | null): string => found?.[1]?.trim() ?? "";
  const dark = variables(/prefers-color-scheme:\s*dark\)\s*\{\s*:root\s*\{([^}]*)\}/.exec(html));
  const light = variables(/:root\s*\{([^}]*)\}/.exec(html));
  return (
    `body.vscode-light, body.vscode-high-contrast-light { ${light} ${EDITOR} color-scheme: light; }\n` +
    `body.vscode-dark, body.vscode-high-contrast:not(.vscode-high-contrast-light) ` +
    `{ ${dark || light} ${EDITOR} color-scheme: dark; }\n` +
    "body { padding: 0; }"
  );
}

const EDITOR =
  "--page: var(--vscode-editor-background); --text: var(--vscode-editor-foreground); " +
  "--soft: var(--vscode-descriptionForeground); --link: var(--vscode-textLink-foreground); " +
  "--line: var(--vscode-panel-border, var(--vscode-contrastBorder)); --card: var(--vscode-editorWidget-background); " +
  "--sans: var(--vscode-font-family); --mono: var(--vscode-editor-font-family);";
