// What is seen when a file is opened: squiggles, hover, Problems, the lens, the status item; settings and typing.

export const look = {
  name: "look",
  file: "router.py",
  async day(vs) {
    await vs.squiggles("warning", 4);
    await vs.lens("Profile on GPU", 11);
    await vs.status("GraphMend");
    await vs.shot("opened");

    await vs.problems("torch.isinf(logits).any()");
    await vs.problems("GM202");
    await vs.shot("problems");

    await vs.goto(26, 14);
    await vs.hover("is known only on the device");
    await vs.hover("Compute both sides and select with torch.where");
    await vs.shot("hover");
    await vs.dismiss();

    // settings reach the server, without a restart
    await vs.settings({ "graphmend.ignore": ["GM202"] });
    await vs.squiggles("warning", 3);
    await vs.noSquiggle("warning", 30);
    await vs.settings({ "graphmend.ignore": null });
    await vs.squiggle("warning", 30);

    // a statement more, typed
    await vs.goto(33, 9);
    await vs.type("print(logits)\n");
    await vs.squiggle("warning", 33);

    // the middle of a statement: what else parses keeps its findings, and what stood there still says that it is compiled
    await vs.goto(41, 5);
    await vs.type("x = (");
    await vs.squiggle("warning", 26);
    await vs.command("GraphMend: Show Output");
    await vs.outputHas("invalid syntax");
    await vs.shot("typed");

    // what changes on disk counts as well
    await vs.open("gate.py");
    await vs.squiggle("info", 16);
    await vs.write("gate.py", "import torch\n\n\n@torch.compile\ndef f(x: torch.Tensor):\n    print(x)\n    return x\n");
    await vs.squiggle("warning", 6);
    await vs.lens("Profile on GPU", 5);

    await vs.outputHas("interpreter of the server: Python 3");
    await vs.shot("output");
    await vs.notifications();
  },
};
