// Quick fixes: one of each transformation, undo to the byte, a refusal that says why, and all at once.

const WHERE = "Compute both sides and select with torch.where";
const DEFER = "Run the log call as an effect of the graph";
const TRAP = "Run the check as an effect of the graph (same exception)";
const ASSERT = "Assert on the device with torch._assert_async";

export const fixes = {
  name: "fixes",
  file: "router.py",
  async day(vs) {
    await vs.squiggles("warning", 4);

    // [Where]
    await vs.goto(26, 14);
    await vs.menu(WHERE);
    await vs.shot("menu");
    await vs.quickfix(WHERE);
    await vs.shows("torch.where(");
    await vs.squiggles("warning", 3);
    await vs.shot("where");
    await vs.save();
    await vs.diskHas("router.py", "torch.where(");
    await vs.undo("torch.where(");
    await vs.squiggle("warning", 26);
    await vs.save();
    await vs.diskSame("router.py");

    // [Defer], which brings a file
    await vs.goto(30, 12);
    await vs.quickfix(DEFER);
    await vs.shows("@graph_effect");
    await vs.onDisk("_graphmend.py");
    await vs.squiggles("warning", 3);
    await vs.shot("defer");
    await vs.undo("@graph_effect");
    await vs.save();
    await vs.diskSame("router.py");

    // [Trap], which keeps the exception
    await vs.goto(22, 14);
    await vs.quickfix(TRAP);
    await vs.shows("_check_");
    await vs.squiggles("warning", 3);
    await vs.shot("trap");
    await vs.undo("@graph_effect");

    // [Trap] on the device: it changes what is raised, so it asks first
    await vs.goto(22, 14);
    await vs.quickfix(ASSERT);
    await vs.click(".bulk-edit-panel .monaco-list-row.selected .edit-checkbox, .bulk-edit-panel .edit-checkbox");
    await vs.shot("assert-asks");
    await vs.answer("Apply");
    await vs.shows("torch._assert_async(");
    await vs.undo("torch._assert_async(");
    await vs.save();
    await vs.diskSame("router.py");

    // what is refused
    await vs.goto(31, 14);
    await vs.menuLacks("Why no fix?", "select with torch.where");
    await vs.quickfix("Why no fix?");
    await vs.notification("changes a container");
    await vs.shot("refused");
    await vs.dismiss();

    // not to be told again
    await vs.quickfix("Ignore on this line");
    await vs.shows("# graphmend: ignore[GM101]");
    await vs.noSquiggle("warning", 31);
  },
};

export const all = {
  name: "all",
  file: "router.py",
  async day(vs) {
    await vs.squiggles("warning", 4);
    await vs.command("GraphMend: Fix All in File");
    await vs.shows("torch.where(");
    await vs.shows("@graph_effect");
    // a log call is not deferred by the way, and what is refused stays
    await vs.squiggles("warning", 2);
    await vs.shows('logger.info("the busiest expert takes %.2f", share.max())');
    await vs.shot("fixed");
    await vs.save();
    await vs.onDisk("_graphmend.py");
  },
};
