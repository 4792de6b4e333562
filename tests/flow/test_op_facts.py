"""The operator facts: the committed file is what the generator writes, and torch does what they say."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphmend_lsp.flow import ops
from graphmend_lsp.flow.ops import function_fact, method_fact, module_fact

torch: Any = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]


def _load_generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_op_facts", ROOT / "tools" / "generate_op_facts.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Dynamo looks the recipes' module up by name
    spec.loader.exec_module(module)
    return module


generator = _load_generator()
same_torch = pytest.mark.skipif(
    torch.__version__.split("+")[0] != ops.facts_torch_version(), reason="the facts are from another torch"
)


def fn(name: str) -> ops.OpFact:
    fact = function_fact(name)
    assert fact is not None, name
    return fact


def me(name: str) -> ops.OpFact:
    fact = method_fact(name)
    assert fact is not None, name
    return fact


@same_torch
def test_the_committed_file_is_what_the_generator_writes() -> None:
    assert generator.render(generator.build()) == generator.TARGET.read_text(encoding="utf-8")


def test_loading_needs_no_torch_and_little_time() -> None:
    code = (
        "import sys, time; from graphmend_lsp.flow import ops\n"
        "best = 1.0\n"
        "for _ in range(7):\n"
        "    ops._tables.cache_clear(); start = time.perf_counter(); ops._tables()\n"
        "    best = min(best, time.perf_counter() - start)\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "print(best)"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert float(out) < 0.02, out  # 10 ms is the target; the margin is for a busy machine


def test_every_fact_can_be_built() -> None:
    tables = ops._tables()  # pyright: ignore[reportPrivateUsage]
    for name in tables.functions:
        assert fn(name).name == name
    for name in tables.methods:
        assert me(name).name == f"torch.Tensor.{name}"
    for name in tables.modules:
        assert module_fact(name) is not None
    for fact in [*map(fn, tables.functions), *map(me, tables.methods)]:
        fact.for_call([], {})
        fact.for_call(("unknown", "unknown", "unknown", "unknown"), {"dim": "unknown"})
        fact.for_call(["tensor", "int"], {"dim": "int"})
        for variant in fact.variants:
            for condition in variant.when:
                assert condition[0] == "#" or ops._CONDITION.fullmatch(condition), condition  # pyright: ignore
                kind = condition.partition(":")[2]
                assert not kind or kind in ops._KINDS, condition  # pyright: ignore[reportPrivateUsage]


@same_torch
def test_every_public_name_of_tensor_and_functional_has_a_fact() -> None:
    assert not [n for n in dir(torch.Tensor) if not n.startswith("_") and method_fact(n) is None]
    for module in (torch, torch.linalg, torch.fft, torch.special, torch.nn.functional):
        for name, _ in generator._public_callables(module):
            assert function_fact(f"{module.__name__}.{name}") is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.nonzero", {"dynamic": True, "returns": "tensor", "result_dtype": "int64"}),
        ("torch.argwhere", {"dynamic": True}),
        ("torch.unique", {"dynamic": True, "returns": "tensor"}),
        ("torch.masked_select", {"dynamic": True}),
        ("torch.bincount", {"dynamic": True}),
        ("torch.combinations", {"dynamic": True}),
        ("torch.linalg.lstsq", {"dynamic": True, "returns": "tensors"}),
        ("torch.nn.functional.one_hot", {"dynamic": True, "result_dtype": "int64"}),
        ("torch.equal", {"host_read": True, "returns": "bool", "metadata": False}),
        ("torch.allclose", {"host_read": True, "returns": "bool"}),
        ("torch.is_nonzero", {"host_read": True, "returns": "bool"}),
        ("torch.cov", {"host_read": True, "returns": "tensor"}),
        ("torch.sum", {"reduction": True, "shape": "scalar", "result_dtype": "sum", "dtype_argument": True}),
        ("torch.sigmoid", {"pointwise": True, "shape": "same", "result_dtype": "float"}),
        ("torch.add", {"pointwise": True, "shape": "same", "result_dtype": "promote"}),
        ("torch.div", {"result_dtype": "promote_float"}),
        ("torch.isnan", {"result_dtype": "bool", "pointwise": True}),
        ("torch.sort", {"returns": "tensors", "count": 2, "mutates": ()}),
        ("torch.cat", {"returns": "tensor", "result_dtype": "promote", "shape": None}),
        ("torch.softmax", {"shape": "same", "pointwise": False}),
        ("torch.reshape", {"alias": "maybe", "shape": None, "result_dtype": "same"}),
        ("torch.transpose", {"alias": "yes", "shape": None}),
        ("torch.rand_like", {"random": True, "shape": "same", "result_dtype": "same"}),
        ("torch.randn", {"random": True, "returns": "tensor"}),
        ("torch.is_tensor", {"returns": "bool", "metadata": True, "unsupported": False}),
        ("torch.finfo", {"returns": "python", "metadata": True}),
        ("torch.get_default_dtype", {"returns": "dtype"}),
        ("torch.float16", {"returns": "dtype", "kind": "attribute"}),
        ("torch.pi", {"returns": "float", "kind": "attribute"}),
        ("torch.as_tensor", {"returns": "tensor", "alias": "maybe"}),
        ("torch.compile", {"returns": "python"}),
        ("torch.relu_", {"mutates": ("input",), "alias": "yes"}),
        ("torch.nn.functional.gelu", {"shape": "same", "result_dtype": "same", "pointwise": True}),
        ("torch.nn.functional.layer_norm", {"shape": "same", "pointwise": False}),
        ("torch.nn.functional.linear", {"shape": None}),
        ("torch.nn.functional.mse_loss", {"shape": "scalar"}),
        ("torch.nn.functional.gumbel_softmax", {"random": True}),
        ("torch.linalg.norm", {"shape": "scalar", "returns": "tensor"}),
        ("torch.linalg.svd", {"returns": "tensors", "count": 3}),
        ("torch.compiler.is_compiling", {"returns": "bool", "metadata": True}),
        ("torch.functional.einsum", {"returns": "tensor"}),
    ],
)
def test_functions(name: str, expected: dict[str, Any]) -> None:
    fact = fn(name)
    assert {key: getattr(fact, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("item", {"returns": "python", "host_read": True}),
        ("tolist", {"returns": "python", "host_read": True}),
        ("__bool__", {"returns": "bool", "host_read": True}),
        ("__len__", {"returns": "int", "metadata": True, "host_read": False}),
        ("numel", {"returns": "int", "metadata": True}),
        ("shape", {"returns": "size", "metadata": True, "kind": "attribute"}),
        ("size", {"returns": "size", "metadata": True, "kind": "method"}),
        ("dtype", {"returns": "dtype", "metadata": True, "kind": "attribute"}),
        ("is_contiguous", {"returns": "bool", "metadata": True, "unsupported": False}),
        ("is_signed", {"returns": "bool", "metadata": True, "unsupported": True}),
        ("grad", {"returns": "tensor", "nullable": True}),
        ("numpy", {"returns": "ndarray", "host_read": False}),
        ("float", {"returns": "tensor", "alias": "maybe", "result_dtype": "float32", "shape": "same"}),
        ("to", {"returns": "tensor", "alias": "maybe", "result_dtype": None, "dtype_argument": True}),
        ("contiguous", {"alias": "maybe", "shape": "same", "result_dtype": "same"}),
        ("view", {"alias": "yes", "shape": None}),
        ("squeeze", {"alias": "yes", "shape": None}),
        ("squeeze_", {"mutates": ("self",), "inplace_view": True, "shape": None}),
        ("add_", {"mutates": ("self",), "alias": "yes", "shape": "same", "result_dtype": "same"}),
        ("__iadd__", {"mutates": ("self",)}),
        ("__add__", {"mutates": (), "result_dtype": "promote"}),
        ("__lt__", {"result_dtype": "bool", "shape": "same"}),
        ("bernoulli_", {"random": True, "mutates": ("self",)}),
        ("neg", {"result_dtype": "same", "pointwise": True}),
        ("T", {"alias": "yes", "kind": "attribute"}),
        ("clamp", {"shape": "same", "result_dtype": "promote"}),
        ("masked_fill", {"shape": "same", "result_dtype": "same"}),
    ],
)
def test_methods(name: str, expected: dict[str, Any]) -> None:
    fact = me(name)
    assert {key: getattr(fact, key) for key in expected} == expected


def test_overloads() -> None:
    for name in ("torch.max", "torch.min"):
        assert fn(name).for_call(["tensor"]).shape == "scalar"
        assert fn(name).for_call(["tensor", "int"]).returns == "tensors"
        assert fn(name).for_call(["tensor", "tensor"]).returns == "tensor"
        assert fn(name).for_call(["tensor", "tensor"]).pointwise
        assert fn(name).for_call(["tensor", "unknown"]).returns == "unknown"
    assert me("max").for_call([], {"dim": "int"}).count == 2
    assert me("max").for_call([], {"axis": "int"}).count == 2
    assert me("median").for_call(["int"]).returns == "tensors"
    assert fn("torch.where").for_call(["tensor"]).dynamic
    assert fn("torch.where").for_call(["tensor"]).returns == "tensors"
    assert not fn("torch.where").for_call(["tensor", "tensor", "float"]).dynamic
    assert not fn("torch.where").for_call(["tensor", "unknown", "float"]).dynamic
    assert me("nonzero").for_call([], {"as_tuple": "true"}).returns == "tensors"
    assert me("nonzero").for_call([], {"as_tuple": "false"}).returns == "tensor"
    assert me("nonzero").for_call([], {"as_tuple": "true"}).dynamic
    assert me("unique").for_call([], {"return_inverse": "true"}).count == 2
    assert me("unique").for_call([], {"return_inverse": "true", "return_counts": "true"}).count == 3
    assert not fn("torch.nn.functional.one_hot").for_call(["tensor", "int"]).dynamic
    assert not fn("torch.nn.functional.one_hot").for_call(["tensor"], {"num_classes": "unknown"}).dynamic
    repeat = fn("torch.repeat_interleave")
    assert not repeat.for_call(["tensor", "int"]).dynamic
    assert repeat.for_call(["tensor", "tensor"]).dynamic
    assert repeat.for_call(["tensor"]).dynamic
    assert not repeat.for_call(["tensor", "tensor"], {"dim": "int", "output_size": "int"}).dynamic
    assert me("repeat_interleave").for_call(["tensor"]).dynamic
    assert not me("repeat_interleave").for_call(["int"]).dynamic
    assert me("tensor_split").for_call(["tensor"]).host_read
    assert not me("tensor_split").for_call(["int"]).host_read
    assert me("size").for_call(["int"]).returns == "int"
    assert me("type").for_call(["dtype"]).returns == "tensor"
    assert me("type").for_call([]).returns == "str"
    assert me("sum").for_call([]).shape == "scalar"
    assert me("sum").for_call(["int"]).shape is None
    assert me("sum").for_call([], {"dim": "sequence"}).shape is None
    assert fn("torch.div").for_call(["tensor", "tensor"], {"rounding_mode": "str"}).result_dtype == "promote"
    relu = fn("torch.nn.functional.relu")
    assert relu.for_call(["tensor"]).mutates == ()
    assert relu.for_call(["tensor"], {"inplace": "true"}).mutates == ("input",)
    assert relu.for_call(["tensor"], {"inplace": "unknown"}).mutates == ("input",)
    assert relu.for_call(["tensor"], {"inplace": "unknown"}).alias == "maybe"
    dropout = fn("torch.nn.functional.dropout")
    assert dropout.for_call(["tensor", "float"], {"training": "bool"}).random
    assert not dropout.for_call(["tensor", "float"], {"training": "false"}).random
    three: tuple[ops.Argument, ...] = ("tensor", "tensor", "tensor")
    attention = fn("torch.nn.functional.scaled_dot_product_attention")
    assert not attention.for_call(three).random
    assert not attention.for_call(three, {"dropout_p": "zero"}).random
    assert attention.for_call(three, {"dropout_p": "float"}).random
    pool = fn("torch.nn.functional.max_pool2d")
    assert pool.for_call(["tensor", "int"], {"return_indices": "true"}).returns == "tensors"
    assert pool.overloaded and not relu.overloaded


def test_names_that_speak_for_a_tensor() -> None:
    only, shared = ops.TENSOR_ONLY_METHODS, ops.ARRAY_METHODS
    assert {"unsqueeze", "masked_fill", "softmax", "matmul", "clamp", "relu", "sigmoid", "bmm", "detach"} <= only
    assert {"requires_grad", "numel", "permute", "is_cuda", "new_zeros", "fill_"} <= only
    assert {"sum", "mean", "max", "min", "any", "all", "argmax", "reshape", "transpose", "view", "item"} <= shared
    assert {"shape", "ndim", "squeeze", "flatten", "std", "cumsum"} <= shared
    assert not only & shared
    for (
        name
    ) in "split index count size to float half cpu cuda type device dtype copy real imag values sort name".split():
        assert name not in only | shared, name
    for value in ("", b"", [], (), {}, set[int](), 1, 1.0, True, range(1), Path(), torch.nn.Linear(1, 1)):
        assert not only & set(dir(value)), value


# -- against the installed torch -------------------------------------------------------------------


def _resolve(name: str) -> Any:
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


@same_torch
def test_the_hand_tables_name_what_exists() -> None:
    for name in generator.HAND_TORCH:
        assert hasattr(torch, name), name
    for name in generator.HAND_F:
        assert hasattr(torch.nn.functional, name), name
    for name in generator.HAND_METHODS:
        assert hasattr(torch.Tensor, name), name
    for name in generator.HAND_OTHER:
        assert _resolve(name) is not None
    schemas = generator._schemas()
    for name in (*generator.HAND_SCHEMA, *generator.HOST_READ, *generator.DYNAMIC, *generator.RANDOM):
        assert name in schemas, name
    for name in generator.DUNDERS.values():
        assert name in schemas, name
    for name in generator.UNSUPPORTED["method"]:
        assert hasattr(torch.Tensor, name), name
    for name in generator.UNSUPPORTED["function"]:
        assert _resolve(name) is not None


@same_torch
def test_the_hand_tables_do_not_repeat_the_schemas() -> None:
    schemas = generator._schemas()
    for table, method in ((generator.HAND_TORCH, False), (generator.HAND_METHODS, True)):
        for name, hand in table.items():
            fact = generator.schema_fact(name, schemas[name], method, "") if name in schemas else None
            if fact is not None:
                assert any(fact.get(key) != value for key, value in hand.items()), name


@same_torch
def test_every_module_class_of_torch_nn_has_a_fact() -> None:
    classes = {
        name: value
        for name, value in vars(torch.nn).items()
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and not name.startswith("_")
    }
    assert sorted(classes) == sorted(generator.HAND_MODULES)
    parameters = generator.inspect.signature
    for name, value in classes.items():
        fact = module_fact(f"torch.nn.{name}")
        assert fact is not None
        if "inplace" in parameters(value.__init__).parameters:
            assert fact.alias, name
        assert fact.indices == ("return_indices" in parameters(value.__init__).parameters) or "Unpool" in name, name
        assert fact.state == issubclass(value, torch.nn.modules.batchnorm._NormBase), name
        assert fact.random >= issubclass(value, torch.nn.modules.dropout._DropoutNd), name
        if issubclass(value, (torch.nn.modules.conv._ConvNd, torch.nn.RNNBase, torch.nn.RNNCellBase)):
            assert fact.heavy, name
    assert {n for n in classes if module_fact(f"torch.nn.{n}").container} == {  # pyright: ignore
        "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Container", "DataParallel",
    }  # fmt: skip


@same_torch
def test_modules_return_and_alias_what_the_facts_say() -> None:
    x = torch.rand(2, 4, 8)
    nn = torch.nn
    made = [nn.Linear(8, 3), nn.LSTM(8, 3), nn.GRU(8, 3), nn.MultiheadAttention(8, 2), nn.Identity(), nn.Flatten()]
    made += [
        nn.Dropout(),
        nn.ReLU(),
        nn.ReLU(inplace=True),
        nn.GELU(),
        nn.LayerNorm(8),
        nn.BatchNorm1d(4),
        nn.Softmax(-1),
    ]
    made += [nn.Conv1d(4, 2, 1), nn.Unflatten(2, (2, 4)), nn.Upsample(scale_factor=2), nn.AvgPool1d(2), nn.SELU(True)]
    for module in made:
        fact = module_fact(f"torch.nn.{type(module).__name__}")
        assert fact is not None
        for training in (True, False):
            module.train(training)
            data = x.clone()
            out = module(data, data, data) if isinstance(module, nn.MultiheadAttention) else module(data)
            assert fact.returns == ("tensors" if isinstance(out, tuple) else "tensor"), module
            if isinstance(out, torch.Tensor) and _shares(out, data):
                assert fact.alias, module


def _shares(a: Any, b: Any) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _unary(fact: ops.OpFact) -> Callable[[Any], Any] | None:
    if fact.kind == "attribute" or generator.NO_SAMPLE.match(fact.name.rpartition(".")[2]):
        return None
    return _resolve(fact.name)


def _all_facts() -> list[ops.OpFact]:
    tables = ops._tables()  # pyright: ignore[reportPrivateUsage]
    return [*map(fn, tables.functions), *(me(n) for n in tables.methods if not n.startswith("_"))]


@same_torch
def test_claims_hold_for_one_and_two_operands() -> None:
    ran = 0
    wrong: list[object] = []
    samples = [torch.rand(3, 3) / 2 + 0.25, torch.rand(2, 5) / 2 + 0.25, torch.arange(1, 7).reshape(2, 3)]
    for fact in _all_facts():
        call = _unary(fact)
        if call is None or fact.returns != "tensor":
            continue
        for x in samples:
            for extra in ((), (x.clone(),), (2,)):
                value = x.clone()
                try:
                    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
                        warnings.simplefilter("ignore")
                        out = call(value, *extra)
                except Exception:
                    continue
                kinds: list[ops.Argument] = ["tensor" if isinstance(e, torch.Tensor) else "int" for e in extra]
                claim = fact.for_call(kinds if fact.kind == "method" else ["tensor", *kinds])
                if claim.returns != "tensor":
                    continue
                ran += 1
                case = (fact.name, str(x.dtype), tuple(x.shape), extra)
                if not isinstance(out, torch.Tensor):
                    wrong.append((*case, "no tensor"))
                    continue
                if claim.shape == "same" and out.shape != x.shape:
                    wrong.append((*case, "shape same", out.shape))
                if claim.shape == "scalar" and out.dim():
                    wrong.append((*case, "shape scalar", out.shape))
                expected = _expected_dtype(claim.result_dtype, x, extra)
                if expected not in (None, out.dtype):
                    wrong.append((*case, claim.result_dtype, out.dtype))
                if out.layout is torch.strided and out.numel() and _shares(out, value) and claim.alias == "no":
                    wrong.append((*case, "aliases"))
                if not claim.mutates and not torch.equal(value, x):
                    wrong.append((*case, "mutates"))
                if claim.mutates == ("self",) and claim.alias == "yes" and out is not value:
                    wrong.append((*case, "does not return self"))
    assert not wrong
    assert ran > 1500


def _expected_dtype(claim: str | None, x: Any, extra: tuple[Any, ...]) -> Any:
    real = x.dtype if x.is_floating_point() else torch.float32
    mixed = torch.result_type(x, extra[0]) if extra else x.dtype
    table = {
        "same": x.dtype,
        "float": real,
        "sum": x.dtype if x.is_floating_point() else torch.int64,
        "promote": mixed,
        "promote_float": mixed if mixed.is_floating_point else torch.float32,
    }
    return None if claim is None else table[claim] if claim in table else getattr(torch, claim)


@same_torch
def test_random_ops_differ_between_calls_and_no_other_does() -> None:
    x = torch.rand(4, 6) / 2 + 0.25
    for fact in _all_facts():
        call = _unary(fact)
        if call is None or fact.returns != "tensor" or fact.mutates or fact.random:
            continue
        before = torch.get_rng_state()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(x.clone())
        except Exception:
            continue
        assert torch.equal(before, torch.get_rng_state()), fact.name


def _breaks(source: str, *arguments: Any) -> bool:
    counters = importlib.import_module("torch._dynamo.utils").counters
    names: dict[str, Any] = {"torch": torch, "F": torch.nn.functional}
    exec(f"def f(x, n):\n    y = x * 2\n    r = {source}\n    return y + 1, r\n", names)
    torch._dynamo.reset()
    counters.clear()
    try:
        torch.compile(names["f"], backend="eager")(*arguments)
    except Exception:
        return True
    return bool(counters["graph_break"])


BREAKING = [
    "y.nonzero()", "y.argwhere()", "torch.where(y > 0)", "y.unique()", "y.masked_select(y > 0)", "n.bincount()",
    "y[0].repeat_interleave(n)", "torch.combinations(y[0])", "torch.linalg.lstsq(y, y)", "F.one_hot(n)",
    "y.sum().item()",
    "y.tolist()", "y.equal(y)", "y.allclose(y)", "y.cov()", "torch.corrcoef(y)", "y.tensor_split(n)", "bool(y.sum())",
    "F.gaussian_nll_loss(y, y, y)", "y.is_signed()", "y.is_neg()", "y.is_conj()", "y.is_inference()", "y.is_pinned()",
    "y.is_shared()", "y.is_same_size(y)", "y.storage()", "y.storage_offset()", "y.dense_dim()", "y.resize_(9)",
    "y.random_()", "y.to_sparse()", "torch.can_cast(y.dtype, torch.float64)", "torch.get_default_device()",
    "torch.get_num_threads()", "torch.initial_seed()", "torch.is_anomaly_enabled()", "torch.manual_seed(0)",
    "torch.result_type(y, y)", "torch.typename(y)", "torch.get_device(y)",
]  # fmt: skip
TRACED = [
    "y.numel()", "len(y)", "y.size()", "y.dim()", "y.is_contiguous()", "y.is_floating_point()", "y.element_size()",
    "y.get_device()", "y.dtype", "torch.is_tensor(y)", "torch.finfo(y.dtype).max", "torch.numel(y)", "y.numpy()",
    "torch.promote_types(y.dtype, torch.float64)", "torch.get_default_dtype()", "torch.is_grad_enabled()",
    "F.one_hot(n, 7)", "y.repeat_interleave(2)", "y[0].repeat_interleave(n, output_size=6)", "y.tensor_split(2)",
    "F.dropout(y)", "y.bernoulli_(0.5)", "y.squeeze()", "F.gaussian_nll_loss(y, y, 1.0)", "torch.where(y > 0, y, 0)",
]  # fmt: skip


@same_torch
@pytest.mark.parametrize(("sources", "expected"), [(BREAKING, True), (TRACED, False)])
def test_dynamo_breaks_where_the_facts_say_so(sources: list[str], expected: bool) -> None:
    x, n = torch.rand(3, 3), torch.tensor([1, 2, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [source for source in sources if _breaks(source, x, n) != expected]
    assert not wrong
