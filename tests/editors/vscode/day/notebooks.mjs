// A notebook: findings in a cell, and a fix that edits that cell and no other.

export const notebook = {
  name: "notebook",
  async day(vs) {
    await vs.open("experiment.ipynb");
    await vs.shows("class Gate(nn.Module):");
    await vs.squiggle("info");
    await vs.shot("opened");
    await vs.problems("x.max() > 1.0");
    await vs.cell("x.max");
    await vs.hover("is known only on the device");
    await vs.dismiss();
    await vs.cell("x.max");
    await vs.quickfix("Compute both sides");
    await vs.shows("x = select(x.max() > 1.0");
    await vs.noSquiggle("info");
    await vs.shot("fixed");
    await vs.save();
    await vs.diskHas("experiment.ipynb", "x = select(x.max() > 1.0");
    await vs.diskHas("experiment.ipynb", "from _graphmend import select");
    await vs.onDisk("_graphmend.py");
    await vs.cellsSame("experiment.ipynb", ["about", "scale"]);
  },
};
