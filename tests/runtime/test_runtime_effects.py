"""An effect happens where it stands: compiled or not, in order, with the values of that moment, without a break."""

import logging
import warnings

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from graphmend_lsp.runtime import graph_effect

FAST = ["eager", "aot_eager"]
RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
ALL = [*FAST, "inductor"]
SEEN = []
logger = logging.getLogger("graphmend.test")


@graph_effect
def _note(*values, **named):
    SEEN.append([value.tolist() if isinstance(value, torch.Tensor) else value for value in values])
    SEEN[-1].extend(named.items())


@graph_effect
def _show(x, end="\n"):
    print(f"norm {x.norm():.3f}", x, end=end)


@graph_effect
def _check_not_negative(x):
    if (x < 0).any():
        raise ValueError(f"negative: {x.min()}")


@graph_effect
def _tell(step):
    logger.warning("step %d", step)
    logger.debug("never at this level")
    warnings.warn(f"warned at {step}", UserWarning, stacklevel=1)


@graph_effect
def _look(x):
    product = x @ x
    SEEN.append((product.dtype, torch.is_grad_enabled(), torch.zeros(1).device.type, product.requires_grad))


@pytest.fixture(autouse=True)
def seen():
    SEEN.clear()
    return SEEN


def helper(x):
    _note("helper", x.sum())
    return x + 1


class Child(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number
        self.weight = torch.nn.Parameter(torch.full((2,), 2.0))

    def forward(self, x):
        x = x * self.weight
        _note("child", self.number, x)
        return x


class Parent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Child(i) for i in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        y = helper(x)
        _note("before", y)
        y.mul_(0.0)
        _note("after", y)
        return (x * x).sum() + y.sum()


@pytest.mark.parametrize("backend", ALL)
def test_children_helpers_loops_order_values_and_gradients(backend, counted, seen):
    model = Parent()
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def run(call):
        model.zero_grad(set_to_none=True)
        x.grad = None
        result = call(x)
        result.backward()
        return result.detach(), x.grad, [p.grad for p in model.parameters()]

    expected = run(model)
    messages = seen[:]
    assert [m[0] for m in messages] == ["child", "child", "child", "helper", "before", "after"]
    seen.clear()
    backend = counted(backend)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(run(compiled), expected)
    assert seen == messages * 2
    assert len(backend.graphs) == 1


@pytest.mark.parametrize("backend", FAST)
def test_no_break_is_logged_in_the_default_mode(backend, breaks, counted):
    backend = counted(backend)
    torch.compile(Parent(), backend=backend)(torch.ones(2))
    assert breaks == [] and len(backend.graphs) == 1


def test_the_break_log_of_these_tests_works(breaks):
    def raw(x):
        print(x.shape)
        return x + 1

    torch.compile(raw, backend="eager")(torch.ones(2))
    assert breaks


@pytest.mark.parametrize("backend", ALL)
def test_an_exception_keeps_its_type_its_text_and_its_place_in_the_order(backend, seen):
    def check(x):
        _note("first")
        y = x * 2
        _check_not_negative(y)
        _note("last")
        return y

    compiled = torch.compile(check, backend=backend, fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    assert seen == [["first"], ["last"]]
    for call in (check, compiled):
        seen.clear()
        with pytest.raises(ValueError) as caught:
            call(torch.tensor([1.0, -3.0]))
        text = str(caught.value)
        if RELEASE < (2, 10) and backend == "aot_eager":  # it runs an fx.Interpreter, which adds to every text
            text = text.split("\n\nWhile executing")[0]
        assert text == "negative: -6.0"
        assert seen == [["first"]]
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("backend", FAST)
def test_prints_look_the_same_without_gradients(backend, capsys):
    def show(x):
        _show(x)
        _show(x * 2, end="|\n")
        return x + 1

    show(torch.arange(3.0))
    expected = capsys.readouterr().out
    torch.compile(show, backend=backend, fullgraph=True)(torch.arange(3.0))
    assert capsys.readouterr().out == expected


def test_what_a_print_shows_of_gradients(capsys):
    def show(x):
        _show(x)
        _show(x * 2)
        return x * 3

    x = torch.ones(2, requires_grad=True)
    show(x)
    expected = capsys.readouterr().out
    torch.compile(show, backend="eager", fullgraph=True)(x)
    assert capsys.readouterr().out == expected
    torch.compile(show, backend="aot_eager", fullgraph=True)(x)
    out = capsys.readouterr().out
    assert "requires_grad=True" in out  # an input is the same
    assert out == expected.replace(", grad_fn=<MulBackward0>", "")  # the limit: an intermediate has no history there


@pytest.mark.parametrize("backend", FAST)
def test_logs_and_warnings(backend, caplog):
    def tell(x):
        _tell(x.shape[0])
        return x * 2

    results = []
    for call in (tell, torch.compile(tell, backend=backend, fullgraph=True)):
        caplog.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(torch.ones(3))
        ours = [w for w in caught if "warned at" in str(w.message)]
        results.append(
            (
                [
                    (r.name, r.levelno, r.getMessage(), r.funcName, r.lineno)
                    for r in caplog.records
                    if r.name == logger.name
                ],
                [(w.category, str(w.message), w.filename, w.lineno) for w in ours],
            )
        )
    assert results[0] == results[1]
    assert results[0][0] and results[0][1]


@pytest.mark.parametrize("backend", FAST)
def test_grad_mode_autocast_and_default_device_are_those_of_the_call(backend, seen):
    def look(x):
        _look(x)
        with torch.autocast("cpu", torch.bfloat16):
            _look(x)
            with torch.no_grad():
                _look(x)
            with torch.autocast("cpu", enabled=False):
                _look(x)
        return x.sum()

    x = torch.ones(2, 2, requires_grad=True)
    compiled = torch.compile(look, backend=backend, fullgraph=True)
    for around in (torch.enable_grad, torch.no_grad, lambda: torch.autocast("cpu", torch.float16)):
        results = []
        for call in (look, compiled):
            seen.clear()
            with around():
                call(x)
            results.append(seen[:])
        assert results[0] == results[1]
    with torch.device("meta"):
        seen.clear()
        look(x)
        expected = seen[:]
        seen.clear()
        compiled(x)
    assert expected[0][2] == "meta"
    if RELEASE >= (2, 6):  # before, Dynamo puts no guard on that context: what held at the first call stays
        assert seen == expected
    else:
        assert [entry[2] for entry in seen] == ["cpu"] * 4


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, lambda: torch.device("meta")])
def test_called_under_modes(backend, mode, seen):
    def note(x):
        _note(x)
        return x + 1

    x = torch.ones(2)
    with mode():
        torch.compile(note, backend=backend, fullgraph=True)(x)
        torch.compile(note, backend=backend, fullgraph=True)(x)
    assert seen == [[[1.0, 1.0]]] * 2


@pytest.mark.parametrize("backend", FAST)
def test_meta_tensors(backend, capsys):
    def show(x):
        _note(x.device.type)
        print_meta(x)
        return x + 1

    torch.compile(show, backend=backend, fullgraph=True)(torch.ones(2, device="meta"))
    assert capsys.readouterr().out == "meta (2,)\n"


@graph_effect
def print_meta(x):
    print(x.device.type, tuple(x.shape))


def test_inside_autograd_functions(seen):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            _note("forward", x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            _note("backward", grad)
            return grad * 2 * ctx.saved_tensors[0]

    def square(x):
        return Square.apply(x).sum()

    x = torch.tensor([3.0], requires_grad=True)
    for backend in FAST:
        seen.clear()
        x.grad = None
        torch.compile(square, backend=backend, fullgraph=True)(x).backward()
        assert seen == [["forward", [3.0]], ["backward", [1.0]]] and x.grad.tolist() == [6.0]


def test_activation_checkpointing_may_run_the_effect_again(seen):
    def body(x):
        _note("body")
        return x.sin() * x

    def run(x):
        return checkpoint(body, x, use_reentrant=False).sum()

    counts = {}
    for name, call in [("plain", run), *((b, torch.compile(run, backend=b, fullgraph=True)) for b in FAST)]:
        seen.clear()
        x = torch.ones(2, requires_grad=True)
        call(x).backward()
        counts[name] = len(seen)
    assert counts["plain"] == 2
    if RELEASE >= (2, 13):
        assert counts == {"plain": 2, "eager": 2, "aot_eager": 1}
    else:  # it differs from release to release, but never is the effect lost
        assert {counts["eager"], counts["aot_eager"]} <= {1, 2}


TRANSFORMS = {
    "vmap": lambda f: torch.vmap(f),
    "jacrev": lambda f: torch.func.jacrev(f),
    "jvp": lambda f: lambda x: torch.func.jvp(f, (x,), (x,))[0],
}


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_take_the_break(backend, transform, seen):
    def note(x):
        _kinds(x)
        return x.sin()

    def run(x):
        return TRANSFORMS[transform](note)(x)

    x = torch.arange(3.0)
    expected = run(x)
    kinds = seen[:]
    seen.clear()
    result = torch.compile(run, backend=backend)(x)
    assert seen == kinds
    if RELEASE >= (2, 13) or (transform, backend) != ("jacrev", "aot_eager"):  # there wrong with a plain print, too
        torch.testing.assert_close(result, expected)
    torch._dynamo.reset()
    reason = r"torch\.func transforms it" if RELEASE >= (2, 13) else "maybe_current_level"
    with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
        torch.compile(run, backend=backend, fullgraph=True)(x)


@pytest.mark.parametrize("backend", FAST)
def test_a_compiled_function_that_is_transformed(backend, seen):
    def note(x):
        _kinds(x)
        return x.sin()

    result = torch.vmap(torch.compile(note, backend=backend))(torch.arange(3.0))
    torch.testing.assert_close(result, torch.arange(3.0).sin())
    assert seen == ["Tensor of 0"]


@graph_effect
def _kinds(x):
    SEEN.append(f"{type(x).__name__} of {x.dim()}")


class Exported(torch.nn.Module):
    def __init__(self, effect):
        super().__init__()
        self.effect = effect

    def forward(self, x):
        self.effect(x)
        return x + 1


def test_tracers_other_than_dynamo_see_the_plain_call(seen):
    torch.export.export(Exported(_kinds.__wrapped__), (torch.ones(2),), strict=False)
    expected = seen[:]
    seen.clear()
    program = torch.export.export(Exported(_kinds), (torch.ones(2),), strict=False)
    assert "emit" not in str(program.graph) and seen == expected and "Tensor of 1" in seen[0]
    seen.clear()
    torch.jit.trace(lambda x: (_kinds(x), x + 1)[1], (torch.ones(2),), check_trace=False)
    assert seen == ["Tensor of 1"]


def test_torchscript_compiles_the_function_itself(capsys):
    def script_user(x: torch.Tensor):
        script_print(x)
        return x

    torch.jit.script(script_user)(torch.ones(2))
    assert "scripted" in capsys.readouterr().out


@graph_effect
def script_print(x: torch.Tensor) -> None:
    print("scripted", x)


def test_strict_export_sees_what_it_saw_before_mending():
    class Raw(torch.nn.Module):
        def forward(self, x):
            print(x.shape)
            return x + 1

    class Mended(torch.nn.Module):
        def forward(self, x):
            print_shape(x)
            return x + 1

    graphs = [torch.export.export(m, (torch.ones(2),), strict=True).graph for m in (Raw(), Mended())]
    assert str(graphs[0]) == str(graphs[1])


@graph_effect
def print_shape(x):
    print(x.shape)


def test_the_compiled_region_breaks_elsewhere(counted, seen):
    """Where the caller's frame is given up, the effect runs plainly and is not compiled by itself."""

    def broken(x):
        for _ in range(3):
            _note(x.sum())
            torch._dynamo.graph_break()
            x = x + 1
        return 0

    backend = counted("eager")
    torch.compile(broken, backend=backend)(torch.zeros(2))
    assert seen == [[0.0], [2.0], [4.0]]
    assert not [name for name in backend.operators() if "emit" in name]


def test_frame_skipping_does_not_outlive_its_purpose(seen):
    """Dynamo's reset between calls changes nothing."""

    def note(x):
        _note(x.sum())
        return x

    for _ in range(2):
        torch._dynamo.reset()
        torch.compile(note, backend="eager", fullgraph=True)(torch.ones(2))
    assert seen == [[2.0], [2.0]]


def test_eager_calls_cost_little():
    """A bound with much room for a noisy machine: the operator would cost 10 us and more."""
    import timeit

    def plain(x):
        pass

    effect = graph_effect(plain)
    x = torch.ones(1)
    slow = min(timeit.repeat(lambda: effect(x), number=20000, repeat=5)) / 20000
    fast = min(timeit.repeat(lambda: plain(x), number=20000, repeat=5)) / 20000
    assert slow - fast < 2e-6


def test_cuda_graphs_are_told_to_leave_the_operator_out():
    tags = torch.ops.graphmend_v1.emit.default.tags
    assert torch.Tag.pt2_compliant_tag in tags
    if not hasattr(torch.Tag, "cudagraph_unsafe"):
        pytest.skip("this torch has no such tag")
    assert torch.Tag.cudagraph_unsafe in tags


def test_opcheck():
    from graphmend_lsp.runtime import _graphmend

    arguments = (_graphmend._register(_plain), "('tuple', ('tuple', ('tensor', 0),), ('dict',),)", "grad cpu")
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        torch.library.opcheck(
            torch.ops.graphmend_v1.emit.default,
            (*arguments, [x], [], torch.zeros(())),
            test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
        )


def _plain(x):
    pass
