"""graph_int and graph_list: numbers of a tensor as symbols of the graph."""

import pytest
import torch

from graphmend_lsp.runtime._graphmend import _RELEASE, graph_int, graph_list

pytestmark = pytest.mark.skipif(_RELEASE < (2, 13), reason="older releases read the number, as they did before")

BACKENDS = ("eager", "aot_eager", "inductor")


def parts(x, sizes):
    return torch.cat([part * 2 + i for i, part in enumerate(torch.split(x, graph_list(sizes)))])


def made(x, sizes):
    found = []
    for height, width in graph_list(torch.stack([sizes + 1, sizes + 3])):
        rows, _ = torch.meshgrid(torch.arange(height), torch.arange(width * 2), indexing="ij")
        found.append(rows.reshape(height, width, 2).transpose(0, 1).flatten())
    return torch.cat(found), x * 2


def repeated(x, sizes):
    return torch.repeat_interleave(x[:2], sizes, dim=0, output_size=graph_int(sizes.sum())) * 2


def filled(x, sizes):
    return torch.full((graph_int(sizes[0]) // 2 + 1,), 3), x + graph_int(sizes.max())


def same(one, two):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, two) and one.stride() == two.stride()
    return type(one) is type(two) and len(one) == len(two) and all(map(same, one, two))


def plain(function):
    """What the function gives with `item` and `tolist`."""
    found = dict(function.__globals__)
    found["graph_int"], found["graph_list"] = torch.Tensor.item, torch.Tensor.tolist
    return type(function)(function.__code__, found)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [parts, made, repeated, filled])
def test_numbers_stay_in_the_graph(function, backend, counted, breaks):
    counted = counted(backend)
    compiled = torch.compile(function, backend=counted)
    for numbers in ([2, 3], [4, 1], [1, 4], [5, 0]):
        x = torch.randn(5, 3, requires_grad=True)
        sizes = torch.tensor(numbers)
        given, wanted = compiled(x, sizes), plain(function)(x, sizes)
        assert same(given, wanted) and same(function(x, sizes), wanted)
        for one, two in zip(
            torch.utils._pytree.tree_leaves(given), torch.utils._pytree.tree_leaves(wanted), strict=True
        ):
            if one.requires_grad:
                ours, theirs = (torch.autograd.grad(each.sum(), x)[0] for each in (one, two))
                assert torch.equal(ours, theirs)
    assert not breaks and len(counted.graphs) == 1  # and it is compiled once for all sizes


def branch(x, sizes):
    return x * 2 if graph_int(sizes[0]) > 2 else x + 1


def how_many_is_data(x, sizes):
    rows = torch.repeat_interleave(sizes, sizes, output_size=graph_int(sizes.sum()))
    return [x[0] * size for size in graph_list(rows)]


def floats(x, sizes):
    return graph_list(x[:1]), graph_int(x[0, 0]), graph_int(7), graph_int(sizes[0] > 1)


def many(x, sizes):
    return graph_list(torch.arange(500) + sizes[0]), x * 2


@pytest.mark.parametrize("function", [branch, how_many_is_data, floats, many])
def test_what_python_must_know_splits_the_graph(function, breaks):
    compiled = torch.compile(function, backend="aot_eager")
    for numbers in ([2, 3], [4, 1]):
        x, sizes = torch.randn(5, 3), torch.tensor(numbers)
        assert repr(compiled(x, sizes)) == repr(plain_or_same(function)(x, sizes))
    assert breaks


def plain_or_same(function):
    return function if function is floats else plain(function)


def test_more_than_one_number_is_refused_as_before():
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.compile(lambda x: graph_int(x) + 1, backend="eager")(torch.arange(3))
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        graph_int(torch.arange(3))


def test_under_vmap_the_number_is_read_as_before():
    def one(x):
        return x * graph_int(x.long())

    with pytest.raises(RuntimeError, match="item"):
        torch.vmap(one)(torch.ones(3))
    with pytest.raises(RuntimeError, match="item"):
        torch.compile(torch.vmap(one), backend="eager")(torch.ones(3))
