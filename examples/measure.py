"""Run `captioner.py` from one folder, plain and compiled, and print what happened as JSON.

    python examples/measure.py FOLDER

Needs torch.  Nothing of graphmend is used here: this is torch's own account.
"""

import contextlib
import hashlib
import importlib
import io
import json
import logging
import re
import sys

import torch
import torch._dynamo  # its loggers exist from here on


class Breaks(logging.Handler):
    """Collects TorchDynamo's graph breaks: (file, line) of the user's code."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.places = []
        self.skipped = 0

    def emit(self, record):
        text = record.getMessage()
        self.skipped += "Skipping the function" in text
        place = re.search(r"user code at (.+?):(\d+)", text)
        if "raph break" in text and place:
            self.places.append((place[1], int(place[2])))


def listen_for_breaks():
    torch._logging.set_logs(graph_breaks=True)
    handler = Breaks()
    for name in list(logging.root.manager.loggerDict):
        if name.endswith("__graph_breaks"):
            logger = logging.getLogger(name)
            logger.handlers[:] = [handler]
            logger.propagate = False
            logger.setLevel(logging.DEBUG)
    return handler


class Records(logging.Handler):
    """Collects what the model logs."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def emit(self, record):
        self.rows.append([record.name, record.levelname, record.getMessage()])


def digest(value):
    """A fingerprint of a result, down to the last bit of its tensors."""
    if isinstance(value, torch.Tensor):
        raw = value.detach().contiguous().view(torch.uint8).numpy().tobytes()
        return f"{value.dtype} {list(value.shape)} {hashlib.sha256(raw).hexdigest()[:16]}"
    if isinstance(value, (tuple, list)):
        return [digest(item) for item in value]
    return repr(value)


def observe(model, inputs, records):
    """Everything a caller can notice of one call."""
    records.rows.clear()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), torch.no_grad():
        try:
            result = digest(model(*inputs))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return {"result": result, "printed": printed.getvalue(), "logged": list(records.rows)}


def main(folder):
    sys.path.insert(0, folder)
    captioner = importlib.import_module("captioner")
    records = Records()
    captioner.logger.addHandler(records)
    captioner.logger.propagate = False
    captioner.logger.setLevel(logging.INFO)

    torch.manual_seed(0)
    model = captioner.Captioner().half().eval()
    patches, mask, prefix = captioner.example_inputs()
    good = (patches, mask, prefix)
    overflow = (patches * 9000, mask, prefix)  # sums pass the largest half-precision number
    bad = (patches, torch.zeros_like(mask), prefix)

    graphs = []

    def count(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    breaks = listen_for_breaks()
    compiled = torch.compile(model, backend=count)
    seen = {"eager": {}, "compiled": {}}
    for name, inputs in {"ordinary": good, "overflowing": overflow, "rejected": bad}.items():
        seen["eager"][name] = observe(model, inputs, records)
        seen["compiled"][name] = observe(compiled, inputs, records)
        if name == "ordinary":
            lines = sorted({line for file, line in breaks.places if file.endswith("captioner.py")})
            counts = {"graphs": len(graphs), "skipped": breaks.skipped, "break_lines": lines}
    print(json.dumps({**counts, **seen}))


if __name__ == "__main__":
    main(sys.argv[1])
