"""select is the branch: kept in the graph where the sides are alike, taken as a branch where they are not."""

import pytest
import torch

from graphmend_lsp.runtime import select

FAST = ["eager", "aot_eager"]


def clamp(x):
    return select(x.sum() > 3, x.clamp(max=0.5), x)


def test_eager_gives_the_very_object():
    new, old = object(), object()
    assert select(True, new, old) is new and select(0, new, old) is old
    assert select(torch.tensor(1.0), new, old) is new and select(torch.zeros(1, 1), new, old) is old
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        select(torch.ones(2), new, old)


@pytest.mark.parametrize("backend", [*FAST, "inductor"])
def test_both_ways_without_a_break(backend, counted):
    backend = counted(backend)
    compiled = torch.compile(clamp, backend=backend, fullgraph=True)
    for fill in (1.0, 0.25, float("nan")):
        x = torch.full((4,), fill)
        torch.testing.assert_close(compiled(x), clamp(x), rtol=0, atol=0, equal_nan=True)
    assert len(backend.graphs) == 1


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: x.sum(),
        lambda x: x.sum().int(),
        lambda x: x.sum().to(torch.uint8),
        lambda x: x.sum().to(torch.complex64),
        lambda x: x.sum().reshape(1, 1),
        lambda x: x[:1] > 0,
        lambda x: (x > 0).any(),
        lambda x: x.sum().half(),
    ],
)
def test_truth_is_pythons(condition):
    def choose(x):
        return select(condition(x), x * 2 + 1, x * 2)

    compiled = torch.compile(choose, backend="eager", fullgraph=True)
    for fill in (0.0, 1.0, -0.0, float("nan"), float("inf"), 0.5):
        x = torch.full((2,), fill)
        torch.testing.assert_close(compiled(x), choose(x), rtol=0, atol=0, equal_nan=True)


UNLIKE = {
    "dtype": lambda x: x.double(),
    "shape": lambda x: x[:1] * 2,
    "broadcast": lambda x: x.sum(0) * 2,
    "strides": lambda x: (x * 2).t().contiguous().t(),
    "device": lambda x: x.to("meta"),
    "number": lambda x: 2.0,
    "none": lambda x: None,
    "tuple": lambda x: (x, x),
}
WEIGHT = torch.nn.Parameter(torch.full((2, 2), 3.0))
LEAVES = {"detached": lambda x: (x * 2).detach(), "parameter": lambda x: WEIGHT}


@pytest.mark.parametrize("side", UNLIKE)
def test_unlike_sides_take_the_branch(side):
    def choose(x, flag):
        x = x * 1
        return select(flag.sum() > 0, UNLIKE[side](x), x)

    x = torch.ones(2, 2, requires_grad=True)
    compiled = torch.compile(choose, backend="eager")
    for flag in (torch.ones(2), -torch.ones(2)):
        expected, result = choose(x, flag), compiled(x, flag)
        assert type(result) is type(expected)
        if isinstance(expected, torch.Tensor):
            for name in ("shape", "dtype", "device", "requires_grad", "layout"):
                assert getattr(result, name) == getattr(expected, name), name
            assert result.stride() == expected.stride()
            if result.device.type != "meta":
                assert torch.equal(result, expected)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.reset()
        torch.compile(choose, backend="eager", fullgraph=True)(x, torch.ones(2))


@pytest.mark.parametrize("side", LEAVES)
def test_sides_that_differ_only_in_their_gradient_stay_in_the_graph(side):
    """Values and gradients are the branch's; only ``requires_grad`` is set if either side has it."""

    def choose(x, flag):
        return select(flag.sum() > 0, LEAVES[side](x), x * 1)

    compiled = torch.compile(choose, backend="eager", fullgraph=True)
    for flag in (torch.ones(2), -torch.ones(2)):
        gradients = []
        for function in (choose, compiled):
            x = torch.ones(2, 2, requires_grad=True)
            result = function(x, flag)
            found = torch.autograd.grad((result + 0 * x + 0 * WEIGHT).sum(), (x, WEIGHT), allow_unused=True)
            gradients.append((result.detach(), *(torch.zeros(2, 2) if g is None else g for g in found)))
        for expected, got in zip(*gradients, strict=True):
            assert torch.equal(expected, got)


def test_conditions_that_python_decides(counted):
    def choose(x, flag):
        return select(flag, x * 2, x) + select(x.dim() > 1, 1, 2)

    backend = counted("eager")
    compiled = torch.compile(choose, backend=backend, fullgraph=True)
    for flag in (True, False, None, 1, ""):
        assert torch.equal(compiled(torch.ones(2), flag), choose(torch.ones(2), flag))
    assert not [name for name in backend.operators() if "where" in name]


def test_a_condition_of_several_elements_raises_as_it_did():
    def choose(x):
        return select(x > 0, x * 2, x)

    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        torch.compile(choose, backend="eager")(torch.ones(2))


@pytest.mark.parametrize("backend", FAST)
def test_dynamic_shapes_do_not_recompile(backend, counted):
    for dynamic in (None, True):
        torch._dynamo.reset()
        counting = counted(backend)
        compiled = torch.compile(clamp, backend=counting, fullgraph=True, dynamic=dynamic)
        for n in range(2, 8):
            assert torch.equal(compiled(torch.ones(n, 3)), clamp(torch.ones(n, 3)))
        assert len(counting.graphs) <= (2 if dynamic is None else 1)


def test_shapes_that_are_equal_only_at_first():
    def choose(x, y):
        return select(x.sum() > 100, x * 2, y * 2)

    compiled = torch.compile(choose, backend="eager", dynamic=True)
    for n, m in [(3, 3), (4, 4), (3, 5), (60, 2)]:
        x, y = torch.ones(n, 2), torch.ones(m, 2)
        assert torch.equal(compiled(x, y), choose(x, y))


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
def test_strides_are_kept(format):
    def choose(x):
        return select(torch.isinf(x).any(), x.clamp(-1, 1), x)

    x = torch.randn(2, 3, 4, 4).to(memory_format=format)
    assert torch.compile(choose, backend="eager", fullgraph=True)(x).stride() == x.stride()


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("fill", [0.1, 2.0])
def test_gradients(backend, fill):
    def choose(x):
        y = x * 3
        return (select(y.sum() > 3, y.clamp(max=1.0) + y, y) ** 2).sum()

    grads = []
    for call in (choose, torch.compile(choose, backend=backend, fullgraph=True)):
        x = torch.full((3,), fill, requires_grad=True)
        call(x).backward()
        grads.append(x.grad)
    assert torch.equal(*grads)


class Chooser(torch.nn.Module):
    def forward(self, x):
        return clamp(x)


@pytest.mark.parametrize("strict", [False, True])
def test_export_keeps_the_selection(strict):
    program = torch.export.export(Chooser(), (torch.ones(4),), strict=strict).module()
    for x in (torch.ones(4), torch.zeros(4)):
        assert torch.equal(program(x), clamp(x))


def test_data_dependent_shapes_still_work():
    def choose(x):
        n = x.nonzero()
        return select(x.sum() > 3, n * 2, n)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(choose, backend="eager")
        for x in (torch.ones(2), torch.ones(4)):
            assert torch.equal(compiled(x), choose(x))
