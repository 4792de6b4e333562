"""What surrounds a call: bypasses, transforms, exports, checkpoints, default devices, threads, processes, packages.

Each with an effect that speaks and one that raises, against what the undecorated function does.
"""

import enum
import importlib
import io
import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import zipfile
from pathlib import Path

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from graphmend_lsp.runtime import _graphmend, graph_effect

SOURCE = Path(_graphmend.__file__)
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
FAST = ["eager", "aot_eager"]
ALL = [*FAST, "inductor"]
SEEN = []


class Negative(Exception):
    pass


@graph_effect
def _say(x):
    SEEN.append(tuple(x.shape))


@graph_effect
def _check(x):
    if (x < 0).any():
        raise Negative("below zero")


def body(x):
    _say(x)
    y = x * 2
    _check(y)
    _say(y[:1])
    return y + 1


def plain_body(x):
    _say.__wrapped__(x)
    y = x * 2
    _check.__wrapped__(y)
    _say.__wrapped__(y[:1])
    return y + 1


@pytest.fixture(autouse=True)
def seen():
    SEEN.clear()
    return SEEN


def outcome(call, *arguments):
    """What a call says, gives and raises; the text of the exception without what older backends add to it."""
    SEEN.clear()
    try:
        result = call(*arguments)
        return SEEN[:], result.device.type if result.device.type == "meta" else result.tolist()
    except Negative as error:
        return SEEN[:], str(error).split("\n\nWhile executing")[0]


INPUTS = [torch.ones(2), torch.tensor([1.0, -1.0]), torch.zeros(3)]


@pytest.mark.parametrize("backend", ALL)
def test_speaking_and_raising_in_one_graph(backend, counted):
    backend = counted(backend)
    compiled = torch.compile(body, backend=backend, fullgraph=True, dynamic=False)
    for x in INPUTS:
        assert outcome(compiled, x) == outcome(plain_body, x)
    assert len(backend.graphs) == 2  # one for each shape


# Where nothing compiles, the operator is not called.


@pytest.fixture
def no_operator(monkeypatch):
    def called(*arguments):
        raise AssertionError("the operator was called")

    monkeypatch.setattr(_graphmend, "_emit", called)


def disabled_by_config(call, x):
    with torch._dynamo.config.patch(disable=True):
        return torch.compile(call, backend="eager")(x)


BYPASSES = {
    "not compiled": lambda call, x: call(x),
    "disable": lambda call, x: torch.compile(torch.compiler.disable(call), backend="eager")(x),
    "disable=True": lambda call, x: torch.compile(call, disable=True)(x),
    "configuration": disabled_by_config,
    "jit.trace": lambda call, x: torch.jit.trace(call, (x,), check_trace=False)(x),
    "fx": lambda call, x: torch.fx.symbolic_trace(call, concrete_args={"x": x})(x),
}


@pytest.mark.parametrize("bypass", BYPASSES)
def test_bypasses_make_the_plain_call(bypass, no_operator):
    for x in INPUTS:
        assert outcome(BYPASSES[bypass], body, x) == outcome(BYPASSES[bypass], plain_body, x)


@pytest.mark.parametrize("backend", FAST)
def test_a_disabled_function_in_a_compiled_one(backend):
    disabled = [torch.compiler.disable(function) for function in (body, plain_body)]
    for x in INPUTS:
        outcomes = []
        for inner in disabled:

            def outer(x, inner=inner):
                return inner(x + 1) * 2

            outcomes.append(outcome(torch.compile(outer, backend=backend), x))
        assert outcomes[0] == outcomes[1]


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="torch.compiler.set_stance came with 2.6")
@pytest.mark.parametrize("stance", ["force_eager", "eager_on_recompile"])
def test_stances(stance):
    compiled = torch.compile(body, backend="aot_eager", dynamic=False)
    compiled(INPUTS[0])
    with torch.compiler.set_stance(stance):
        for x in INPUTS:
            assert outcome(compiled, x) == outcome(plain_body, x)


def test_after_the_limit_of_recompiles_the_plain_call_is_made():
    limit = "recompile_limit" if hasattr(torch._dynamo.config, "recompile_limit") else "cache_size_limit"
    with torch._dynamo.config.patch({limit: 2}):
        compiled = torch.compile(body, backend="eager", dynamic=False)
        for n in range(1, 6):
            assert outcome(compiled, torch.ones(n)) == outcome(plain_body, torch.ones(n))
        assert outcome(compiled, -torch.ones(7)) == outcome(plain_body, -torch.ones(7))


# torch.func and exports


@graph_effect
def _refuse(x):
    SEEN.append(x.dim())
    raise Negative(f"refused {x.dim()}")


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad, torch.func.jacrev])
def test_raising_in_a_transform(backend, transform):
    def refuse(x):
        _refuse(x)
        return x.sin().sum()

    x = torch.arange(3.0)
    expected = outcome(transform(refuse), x)
    assert expected[0] and "refused" in expected[1]
    assert outcome(torch.compile(lambda x: transform(refuse)(x), backend=backend), x) == expected
    assert outcome(transform(torch.compile(refuse, backend="eager")), x) == expected


class Exported(torch.nn.Module):
    def __init__(self, say):
        super().__init__()
        self.say = say

    def forward(self, x):
        self.say(x)
        return x * 2


@graph_effect
def _refuse_rank(x):
    if x.dim() == 1:
        raise Negative("one dimension")


@pytest.mark.parametrize("strict", [False, True])
def test_exported_programs_are_those_of_the_undecorated_function(strict):
    programs = []
    for effect in (_say, _say.__wrapped__):
        program = torch.export.export(Exported(effect), (torch.ones(2),), strict=strict)
        assert program.module()(torch.ones(2)).tolist() == [2.0, 2.0]
        programs.append(str(program.graph))
    assert programs[0] == programs[1] and "emit" not in programs[0]


@pytest.mark.parametrize("strict", [False, True])
def test_what_raises_in_an_export_raises_as_before(strict):
    found = []
    for effect in (_refuse_rank, _refuse_rank.__wrapped__):
        with pytest.raises(Exception) as caught:
            torch.export.export(Exported(effect), (torch.ones(2),), strict=strict)
        found.append(type(caught.value))
    assert found[0] is found[1]


# Checkpoints and default devices


@pytest.mark.parametrize("backend", ALL)
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_lose_nothing(backend, reentrant):
    def run(x, inner=body):
        return checkpoint(lambda x: inner(x) * x, x, use_reentrant=reentrant).sum()

    def step(call, fill):
        x = torch.full((2,), fill, requires_grad=True)
        call(x).backward()
        return x.grad

    expected = outcome(lambda: step(lambda x: run(x, plain_body), 1.0))
    once = [(2,), (1,)]
    assert expected[0] == once * 2  # the body runs again in the backward pass
    compiled = torch.compile(run, backend=backend)
    for _ in range(2):
        said, gradient = outcome(lambda: step(compiled, 1.0))
        assert said in (once, once * 2) and gradient == expected[1]
    assert outcome(lambda: step(compiled, -1.0)) == ([(2,)], "below zero")


@graph_effect
def _where(x):
    SEEN.append((torch.empty(1).device.type, x.device.type))
    if x.dim() == 2 and torch.zeros(1).is_meta:
        raise Negative(f"made on {torch.zeros(1).device}")


@pytest.mark.parametrize("backend", FAST)
def test_the_default_device_may_change_between_calls(backend):
    def run(x):
        _where(x)
        return x + 1

    compiled = torch.compile(run, backend=backend, fullgraph=True)
    try:
        for device in ("cpu", "meta", None, "meta", "cpu"):
            for shape in ((2,), (2, 1)):
                x = torch.ones(shape, device="cpu")
                torch.set_default_device(device)
                assert outcome(compiled, x) == outcome(run, x)
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("backend", FAST)
def test_a_device_context_around_the_first_call(backend):
    def run(x):
        _where(x)
        return x + 1

    x = torch.ones(2, 1)
    expected = []
    for device in ("meta", "cpu", "meta"):
        with torch.device(device):
            expected.append(outcome(run, x))
    compiled = torch.compile(run, backend=backend, fullgraph=True)
    found = []
    for device in ("meta", "cpu", "meta"):
        with torch.device(device):
            found.append(outcome(compiled, x))
    if RELEASE >= (2, 6):
        assert found == expected
    else:  # Dynamo puts no guard on the context: what held at the first call stays
        assert found == [expected[0]] * 3


# Copies of the file under other names


SCRIPT = """
    from ._graphmend import graph_effect
    import enum
    import torch

    class Kind(enum.Enum):
        ONE = 1

    class Negative(Exception):
        pass

    @graph_effect
    def say(x, kind):
        print("saw", kind.name, tuple(x.shape))

    @graph_effect
    def check(x):
        if (x < 0).any():
            raise Negative("below zero")

    class Net(torch.nn.Module):
        def forward(self, x):
            say(x, Kind.ONE)
            check(x)
            return x * 2
"""


NUMBERS = itertools.count()


@pytest.fixture
def mended(tmp_path):
    """A package with its own copy of the file, as mending leaves it. Its name is new: Dynamo keeps modules by name."""
    package = tmp_path / f"mended_{next(NUMBERS)}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "net.py").write_text(textwrap.dedent(SCRIPT))
    (package / "_graphmend.py").write_text(SOURCE.read_text())
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == package.name]:
        del sys.modules[name]


def speaks_and_raises(net, capsys, negative, backend="aot_eager", **options):
    torch._dynamo.reset()
    compiled = torch.compile(net, backend=backend, **options)
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(negative, match="below zero"):
        compiled(-torch.ones(2))
    assert capsys.readouterr().out == "saw ONE (2,)\n" * 2


def test_a_package_in_a_zip_file(mended, capsys, monkeypatch):
    archive = mended.parent / "code.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in mended.glob("*.py"):
            file.write(path, f"{mended.name}/{path.name}")
    monkeypatch.syspath_prepend(str(archive))
    net = importlib.import_module(f"{mended.name}.net")
    assert "code.zip" in net.__file__ and sys.modules[f"{mended.name}._graphmend"]._shared is _graphmend._shared
    speaks_and_raises(net.Net(), capsys, net.Negative, fullgraph=True)


def test_torch_package(mended, capsys, monkeypatch):
    package = pytest.importorskip("torch.package")
    monkeypatch.syspath_prepend(str(mended.parent))
    net = importlib.import_module(f"{mended.name}.net")
    buffer = io.BytesIO()
    with package.PackageExporter(buffer) as exporter:
        exporter.extern(["torch", "torch.**", "typing_extensions"])
        exporter.intern(f"{mended.name}.**")
        exporter.save_pickle("model", "net.pkl", net.Net())
    for _ in range(2):  # each importer has modules of its own
        buffer.seek(0)
        importer = package.PackageImporter(buffer)
        loaded = importer.load_pickle("model", "net.pkl")
        assert type(loaded) is not net.Net
        copy = importer.import_module(f"{mended.name}._graphmend")
        assert copy is not sys.modules[f"{mended.name}._graphmend"] and copy._shared is _graphmend._shared
        # the enum member is of a module that no import finds, so that call splits the graph
        speaks_and_raises(loaded, capsys, importer.import_module(f"{mended.name}.net").Negative)
    speaks_and_raises(net.Net(), capsys, net.Negative, fullgraph=True)


class Unfindable(enum.Enum):
    ONE = 1


@graph_effect
def _name(kind, x):
    SEEN.append(kind)


def test_an_enum_that_no_import_finds_splits_the_graph(monkeypatch, counted):
    def run(x):
        _name(Unfindable.ONE, x)
        return x + 1

    monkeypatch.setattr(Unfindable, "__module__", "<torch_package_0>.somewhere")
    torch.compile(run, backend=counted("eager"))(torch.ones(2))
    assert SEEN == [Unfindable.ONE]
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.reset()
        torch.compile(run, backend="eager", fullgraph=True)(torch.ones(2))


def test_two_versions_speak_and_raise_side_by_side(mended, capsys, monkeypatch):
    (mended / "_graphmend.py").write_text(SOURCE.read_text().replace('"graphmend_v1"', '"graphmend_v998"'))
    monkeypatch.syspath_prepend(str(mended.parent))
    net = importlib.import_module(f"{mended.name}.net")
    assert sys.modules[f"{mended.name}._graphmend"]._shared is not _graphmend._shared

    def both(x):
        _say(x)
        y = model(x)
        _check(y - 4)
        return y

    model = net.Net()
    for backend in ALL:
        torch._dynamo.reset()
        compiled = torch.compile(both, backend=backend, fullgraph=True)
        assert outcome(compiled, torch.full((2,), 3.0)) == ([(2,)], [6.0, 6.0])
        assert outcome(compiled, torch.ones(2)) == ([(2,)], "below zero")
        with pytest.raises(net.Negative):
            compiled(-torch.ones(2))
        assert capsys.readouterr().out == "saw ONE (2,)\n" * 3


# Pickles, processes and threads


def python(code, *arguments):
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_pickled_here_and_loaded_in_a_new_process(mended, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(mended.parent))
    net = importlib.import_module(f"{mended.name}.net")
    model = net.Net()
    torch.compile(model, backend="aot_eager", fullgraph=True)(torch.ones(2))
    capsys.readouterr()
    speaks_and_raises(pickle.loads(pickle.dumps(model)), capsys, net.Negative, fullgraph=True)
    assert pickle.loads(pickle.dumps(net.say)) is net.say
    (mended / "model.pkl").write_bytes(pickle.dumps((model, net.say)))
    torch.save(model, mended / "model.pt")
    code = """
        import pickle, sys, torch
        folder, name = sys.argv[1:]
        sys.path.insert(0, folder)
        for model in (
            pickle.load(open(f"{folder}/{name}/model.pkl", "rb"))[0],
            torch.load(f"{folder}/{name}/model.pt", weights_only=False),
        ):
            torch._dynamo.reset()
            compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
            compiled(torch.ones(2))
            try:
                compiled(-torch.ones(2))
            except sys.modules[name + ".net"].Negative as error:
                print(str(error).split()[0])
    """
    assert python(code, mended.parent, mended.name) == "saw ONE (2,)\nsaw ONE (2,)\nbelow\n" * 2


def in_a_child(x, pipe):
    pipe.send([outcome(CHILD[0], x), outcome(CHILD[0], -x), outcome(CHILD[0], torch.ones(5))])
    pipe.close()


CHILD = []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("before", ["nothing", "used", "compiled"])
def test_a_forked_process(before):
    """It may find the effect unused, used or compiled; it can compile and go on."""
    compiled = torch.compile(body, backend="aot_eager", fullgraph=True)
    if before == "used":
        body(torch.ones(2))
    elif before == "compiled":
        compiled(torch.ones(2))
    CHILD[:] = [compiled]
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=in_a_child, args=(torch.ones(2), there))
    child.start()
    try:
        assert here.poll(120), "the child says nothing"
        found = here.recv()
    finally:
        child.join(10)
        if child.is_alive():
            child.kill()
    inputs = (torch.ones(2), -torch.ones(2), torch.ones(5))
    assert found == [outcome(plain_body, x) for x in inputs]
    assert [outcome(compiled, x) for x in inputs] == found  # and here it goes on, too


@pytest.mark.parametrize("backend", ALL)
def test_one_compiled_function_in_many_threads(backend):
    said, failures = [], []

    @graph_effect
    def say(x, number):
        said.append((number, x.sum().item()))

    def run(x, number):
        say(x, number)
        _check(x)
        return x * 2

    compiled = torch.compile(run, backend=backend, fullgraph=True)
    numbers = [torch.tensor(float(number)) for number in range(4)]
    compiled(torch.ones(2), numbers[0])  # before 2.10 a compiled call is refused while another thread is compiling
    said.clear()
    barrier = threading.Barrier(4)

    def work(number):
        try:
            barrier.wait(60)
            for turn in range(25):
                assert compiled(torch.full((2,), float(turn)), numbers[number]).tolist() == [turn * 2.0] * 2
                with pytest.raises(Negative, match="below zero"):
                    compiled(torch.full((2,), -1.0 - turn), numbers[number])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for number in range(4):  # each thread's own, in its order
        mine = [value for tensor, value in said if tensor.item() == number]
        assert mine == [value for turn in range(25) for value in (turn * 2.0, -2.0 - turn * 2)]


def test_first_imports_and_first_compiles_in_many_threads(mended):
    """The first copies of a process, imported in threads that compile at once."""
    code = """
        import importlib, os, shutil, sys, threading, torch
        (folder, name), count = sys.argv[1:], 4
        sys.path.insert(0, folder)
        for i in range(count):
            shutil.copytree(f"{folder}/{name}", f"{folder}/copy_{i}")
        release = tuple(int(part) for part in torch.__version__.split(".")[:2])
        barrier, lock, failures = threading.Barrier(count), threading.Lock(), []
        def work(i):
            try:
                barrier.wait(60)
                net = importlib.import_module(f"copy_{i}.net")
                compiled = torch.compile(net.Net(), backend="aot_eager", fullgraph=True)
                with lock if release < (2, 10) else threading.Lock():
                    compiled(torch.ones(2 + i))
                try:
                    with lock if release < (2, 10) else threading.Lock():
                        compiled(-torch.ones(2 + i))
                except net.Negative:
                    return
                failures.append("nothing raised")
            except BaseException as failure:
                failures.append(failure)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failures, failures
        assert len({id(sys.modules[f"copy_{i}._graphmend"]._shared) for i in range(count)}) == 1
    """
    lines = python(code, mended.parent, mended.name).replace("saw", "\nsaw").split("\n")
    assert sorted(line for line in lines if line) == sorted(f"saw ONE ({2 + i},)" for i in range(4) for _ in range(2))
