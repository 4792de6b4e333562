"""What the tests of the runtime share: one thread, fresh Dynamo state, backends that count graphs, recorded breaks."""

import logging

import pytest
import torch
import torch._dynamo
import torch._logging

BREAK_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"


class Breaks(logging.Handler):
    def __init__(self):
        super().__init__(logging.DEBUG)
        self.texts = []

    def emit(self, record):
        text = record.getMessage()
        if "raph break" in text:
            self.texts.append(text)


class Counted:
    """A backend under its own name that counts the graphs it is given."""

    def __init__(self, backend):
        self.backend = backend
        self.graphs = []

    def __call__(self, graph, inputs):
        self.graphs.append(graph)
        if self.backend == "eager":
            return graph.forward
        return torch._dynamo.lookup_backend(self.backend)(graph, inputs)

    def operators(self):
        return [str(node.target) for graph in self.graphs for node in graph.graph.nodes if node.op == "call_function"]


@pytest.fixture(autouse=True)
def fresh_dynamo():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    torch.set_num_threads(threads)


@pytest.fixture
def breaks():
    """Every graph break event: the log artifact sees those that counters and explain() miss."""
    torch._logging.set_logs(graph_breaks=True)
    handler = Breaks()
    names = [name for name in logging.root.manager.loggerDict if name.endswith("__graph_breaks")]
    kept = [(logger, logger.handlers[:], logger.propagate) for logger in map(logging.getLogger, names)]
    for logger, _, _ in kept:
        logger.handlers[:] = [handler]
        logger.propagate = False
    yield handler.texts
    for logger, handlers, propagate in kept:
        logger.handlers[:] = handlers
        logger.propagate = propagate
    torch._logging.set_logs()


@pytest.fixture
def counted():
    return Counted
