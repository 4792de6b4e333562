// Profile and verify: progress, cancel, results, what an edit makes of them, the report.

const LONG_MS = 240_000; // compiling, on a machine that has other things to do

export const measure = {
  name: "measure",
  file: "gate.py",
  setUp: ({ python }) => ({ settings: { "graphmend.python": python } }),
  async day(vs) {
    await vs.squiggle("info", 16);

    // by the lens, and cancelled
    await vs.clickLens("Profile on GPU", 7);
    await vs.notification("GraphMend: profiling Gate");
    await vs.workers("some");
    await vs.shot("progress");
    await vs.cancel("GraphMend: profiling Gate");
    await vs.noNotification("GraphMend: profiling Gate");
    await vs.workers("none");
    await vs.noInlay("graph");

    // by the palette, to the end
    await vs.goto(17, 5);
    await vs.command("GraphMend: Profile on GPU");
    await vs.notification("GraphMend: profiling Gate");
    await vs.notification("mended: 1 graph", LONG_MS);
    await vs.inlay("2 graphs, 1 break -> mended: 1 graph", 7);
    await vs.status("GraphMend: 2 graphs -> 1");
    await vs.problems("measured: Gate");
    await vs.shot("measured");

    // the report
    await vs.answer("Show report");
    await vs.webview("Gate");
    await vs.webview("cold start");
    await vs.shot("report");
    await vs.command("View: Close All Editors");
    await vs.open("gate.py");
    await vs.inlay("mended: 1 graph", 7);

    // the numbers where the name is
    await vs.goto(7, 8);
    await vs.hover("cold start");
    await vs.shot("numbers");
    await vs.dismiss();

    // an edit makes them old, taking it back makes them new
    await vs.goto(17, 39);
    await vs.type("5");
    await vs.shows("max=4.05");
    await vs.inlay("(stale)", 7);
    await vs.shot("stale");
    await vs.undo("max=4.05");
    await vs.noInlay("(stale)");
    await vs.inlay("mended: 1 graph", 7);

    // by the lens again, whose title has learnt that there is no GPU, if there is none
    await vs.lens("Profile on", 7);

    // a fix is verified
    await vs.goto(16, 14);
    await vs.command("GraphMend: Verify Fix");
    await vs.notification("GraphMend: verifying a fix");
    await vs.notification("same", LONG_MS);
    await vs.shot("verified");
  },
};
