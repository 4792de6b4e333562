// The pictures of the documentation: what is underlined and offered, the code as it is mended, what a profile says.

export const pictures = {
  name: "pictures",
  file: "router.py",
  size: { width: 1200, height: 640 },
  settings: {
    "editor.fontSize": 14,
    "editor.lineHeight": 21,
    "breadcrumbs.enabled": false,
    "window.commandCenter": false,
    "workbench.activityBar.location": "hidden",
    "workbench.layoutControl.enabled": false,
    "editor.lightbulb.enabled": "off",
    "editor.renderLineHighlight": "none",
    "editor.overviewRulerBorder": false,
    "editor.occurrencesHighlight": "off",
    "workbench.editor.openSideBySideDirection": "down",
  },
  setUp: ({ python }) => ({ settings: { "graphmend.python": python } }),
  async day(vs) {
    await vs.panes();
    await vs.squiggle("warning", 22);

    await vs.goto(26, 14);
    await vs.top(12);
    await vs.menu("Compute both sides");
    await vs.picture("problem");
    await vs.dismiss();

    await vs.goto(22, 14);
    await vs.quickfix("Mend all safely fixable breaks in Router.forward");
    await vs.shows("@graph_effect");
    await vs.size(1200, 860);
    await vs.goto(48, 1);
    await vs.top(11);
    await vs.squiggles("warning", 1);
    await vs.picture("mended");
    await vs.undo("@graph_effect");
    await vs.squiggles("warning", 4);

    await vs.goto(11, 1);
    await vs.command("GraphMend: Profile on GPU");
    await vs.notification("mended: ", 400_000);
    await vs.answer("Show report");
    await vs.webviewAt("Graphs");
    await vs.dismiss();
    await vs.goto(35, 1);
    await vs.top(9);
    await vs.inlay("mended:", 11);
    await vs.picture("measured");
  },
};
