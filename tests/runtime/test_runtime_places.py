"""graph_mask, graph_nonzero and graph_each: how many elements there are as a symbol of the graph."""

import pytest
import torch

from graphmend_lsp.runtime._graphmend import _RELEASE, graph_each, graph_mask, graph_nonzero

NEW = _RELEASE >= (2, 13)
new = pytest.mark.skipif(not NEW, reason="older releases split the graph, as they did before")
BACKENDS = ("eager", "aot_eager", "inductor")
MASKS = ([1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0])


def read(x, mask):
    return x[graph_mask(x, mask)] * 2


def written(x, mask):
    x = x * 1
    rows = torch.sin(x[graph_mask(x, mask)])
    x[graph_mask(x, mask)] = rows
    x[graph_mask(x, ~mask)] *= 3
    x[graph_mask(x, ~mask, slice(None))] += x[graph_mask(x, ~mask)]
    return x


def columns(x, mask):
    return x.T[graph_mask(x.T, slice(None), mask)] + x.T[graph_mask(x.T, slice(1), mask)], x[graph_mask(x, mask, None)]


def two_dimensions(x, mask):
    found = (x > 0) & mask[:, None]
    return x[graph_mask(x, found)].sum(), graph_nonzero(found)


def searched(x, mask):
    (rows,) = graph_nonzero(mask, as_tuple=True)
    return x[rows], graph_nonzero(mask), torch.zeros(6, 3).index_add_(0, rows, x[rows])


def experts(x, mask):
    chosen = torch.stack([mask, ~mask, mask & ~mask]).long()[:, None]
    out = torch.zeros_like(x)
    for expert in graph_each(chosen.sum(dim=(-1, -2)) > 0):
        position, token = graph_nonzero(chosen[expert : expert + 1].squeeze(0), as_tuple=True)
        out.index_add_(0, token, torch.cos(x[token]) * (position + expert + 1)[:, None])
    return out


FUNCTIONS = [read, written, columns, two_dimensions, searched, experts]


def plain_mask(value, *index):
    return index


def plain_each(mask):
    return [int(row) for row in mask.nonzero()]


def plain(function):
    """What the function gives with the operators of torch."""
    found = dict(function.__globals__)
    found["graph_mask"], found["graph_nonzero"], found["graph_each"] = plain_mask, torch.nonzero, plain_each
    return type(function)(function.__code__, found)


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def gradient(value, x):
    return torch.autograd.grad(sum(one.sum() for one in leaves(value) if one.requires_grad), x)[0]


@new
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_stays_in_the_graph(function, backend, counted, breaks):
    counted = counted(backend)
    compiled = torch.compile(function, backend=counted)
    for numbers in MASKS:
        x, mask = torch.randn(6, 3, requires_grad=True), torch.tensor(numbers).bool()
        given, wanted, eager = compiled(x, mask), plain(function)(x, mask), function(x, mask)
        for one, two, three in zip(leaves(given), leaves(wanted), leaves(eager), strict=True):
            assert torch.equal(three, two) and three.stride() == two.stride()
            assert one.shape == two.shape and torch.allclose(one, two)  # inductor has sines of its own
            assert backend == "inductor" or torch.equal(one, two)
        ours, theirs = gradient(given, x), gradient(wanted, x)
        assert torch.allclose(ours, theirs) and (backend == "inductor" or torch.equal(ours, theirs))
    assert not breaks and len(counted.graphs) == 1  # and it is compiled once for all masks


def broadcast(x, mask):
    return x[graph_mask(x, mask)] + torch.ones(2, 3)


@new
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_row_is_not_silently_broadcast(backend):
    compiled = torch.compile(broadcast, backend=backend)
    for numbers in ([1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]):
        x, mask = torch.randn(6, 3), torch.tensor(numbers).bool()
        try:
            given = compiled(x, mask)
        except Exception:
            assert sum(numbers) == 1
            continue
        assert torch.equal(given, broadcast(x, mask))


def small_mask(x, mask):
    return x[graph_mask(x, mask[:4])]


def too_many(x, mask):
    return x[graph_mask(x, slice(None), slice(None), mask)]


@pytest.mark.parametrize("function", [small_mask, too_many])
def test_what_does_not_fit_is_refused_as_before(function):
    x, mask = torch.randn(6, 3), torch.ones(6).bool()
    with pytest.raises(IndexError) as wanted:
        function(x, mask)
    with pytest.raises(Exception) as given:
        torch.compile(function, backend="eager")(x, mask)
    assert str(wanted.value) in str(given.value)


def numbers(x, mask):
    return x[graph_mask(x, mask.long())], x[graph_mask(x, [0, 2])]


def two_masks(x, mask):
    return x[graph_mask(x, mask, x[0] > 0)]


def a_number_of_none(x, mask):
    return graph_nonzero(mask.any()), graph_nonzero(mask.any(), as_tuple=True)


@pytest.mark.parametrize("function", [numbers, two_masks, a_number_of_none])
def test_other_indices_are_what_they_were(function):
    compiled = torch.compile(function, backend="aot_eager")
    x, mask = torch.arange(18.0).reshape(6, 3) - 1, torch.tensor([1, 0, 1, 0, 0, 0]).bool()
    for one, two in zip(leaves(compiled(x, mask)), leaves(plain(function)(x, mask)), strict=True):
        assert torch.equal(one, two)


def each(x, mask):
    return [x[row] for row in graph_each(mask)]


def test_eager_goes_through_those_that_are_hit():
    assert graph_each(torch.tensor([True, False, True])) == [0, 2]
    assert graph_each(torch.zeros(3).bool()) == []


@new
def test_very_many_are_read(breaks):
    mask = torch.arange(500) % 99 == 3
    assert len(torch.compile(each, backend="eager")(torch.randn(500, 1), mask)) == 6
    assert breaks


def test_under_vmap_it_is_as_before():
    def one(x):
        return x[graph_mask(x, x > 0)]

    with pytest.raises(RuntimeError, match=r"vmap|nonzero"):
        torch.vmap(one)(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"vmap|nonzero"):
        torch.compile(torch.vmap(one), backend="eager")(torch.ones(3, 2))


def test_exports_hold_the_operators_of_torch():
    class Net(torch.nn.Module):
        def forward(self, x, mask):
            return x[graph_mask(x, mask)] * 2

    x, mask = torch.randn(6, 3), torch.tensor([1, 0, 1, 0, 0, 1]).bool()
    for strict in (True, False):
        program = torch.export.export(Net(), (x, mask), strict=strict)
        assert "graphmend" not in str(program.graph)
        assert torch.equal(program.module()(x, mask), x[mask] * 2)
