"""Host calls by dotted name: what prints, logs or warns, and which functions only look."""

from __future__ import annotations

PRINTS = frozenset(
    {
        "builtins.print",
        "pprint.pprint",
        "pprint.pp",
        "sys.stdout.write",
        "sys.stdout.writelines",
        "sys.stdout.flush",
        "sys.stderr.write",
        "sys.stderr.writelines",
        "sys.stderr.flush",
        "sys.__stdout__.write",
        "sys.__stderr__.write",
        "rich.print",
        "rich.inspect",
        "tqdm.tqdm.write",
        "tqdm.auto.tqdm.write",
        "click.echo",
        "icecream.ic",
    }
)
WARNS = frozenset({"warnings.warn", "warnings.warn_explicit", "warnings.showwarning"})
LOG_METHODS = frozenset(
    "debug info warning warn error exception critical fatal log isEnabledFor getEffectiveLevel hasHandlers "
    "setLevel handle callHandlers addHandler removeHandler addFilter getChild "
    "warning_once info_once debug_once error_once warning_advice trace success".split()
)
"""Methods of a logger object that break (all of ``logging.Logger``, and what is hung on it)."""
LOG_CALLS = frozenset(
    "debug info warning warn error exception critical fatal log warning_once info_once debug_once error_once "
    "warning_advice trace success".split()
)
LOG_MODULES = ("logging", "loguru.logger", "absl.logging", "loguru")
LOGGER_NAMES = frozenset({"logger", "log", "LOGGER", "LOG", "_logger", "_log", "LOGger"})
GET_LOGGER = frozenset({"getLogger", "get_logger"})

COMPILING = {
    "torch.compiler.is_compiling": True,
    "torch.compiler.is_dynamo_compiling": True,
    "torch._dynamo.is_compiling": True,
    "torch._dynamo.external_utils.is_compiling": True,
    "torch._utils.is_compiling": True,
    "torch.jit.is_scripting": False,
    "torch.jit.is_tracing": False,
    "torch._C._get_tracing_state": False,
    "torch.onnx.is_in_onnx_export": False,
    "torch._jit_internal.is_scripting": False,
}
"""What these return under torch.compile."""
COMPILING_NAMES = {
    "is_torchdynamo_compiling": True,
    "is_compiling": True,
    "is_tracing": None,
    "is_jit_tracing": False,
    "is_torchdynamo_exporting": False,
}
"""Helpers of the same meaning that libraries define, by their last name."""

NO_GRAD = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})
TRANSPARENT_CONTEXTS = frozenset(
    {
        "torch.no_grad",
        "torch.inference_mode",
        "torch.enable_grad",
        "torch.set_grad_enabled",
        "torch.autocast",
        "torch.amp.autocast",
        "torch.cuda.amp.autocast",
    }
)
"""Contexts in which a break can resume; inside any other the whole frame is dropped."""

DISABLED = frozenset(
    {
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch._dynamo.disallow_in_graph",
        "torch._disable_dynamo",
    }
)
DISABLERS = DISABLED - {"torch._dynamo.disallow_in_graph"}
"""Those that give a function which leaves the graph when it is called."""
DELIBERATE = frozenset(
    {"torch._dynamo.graph_break", "torch._dynamo.skip_frame", "torch._dynamo.step_unsupported", "builtins.breakpoint"}
)
"""Calls whose only purpose is to leave the graph."""
BUILDERS = frozenset(
    {
        "Tensor.backward",
        "Tensor.requires_grad_",
        "Tensor.requires_grad_ input",
        "Tensor.retain_grad",
        "torch.autograd.backward",
        "torch.autograd.grad",
        "Tensor.requires_grad =",
        "Optimizer.step",
        "class",
    }
)
"""What makes state or gradients, beside the classes of ``torch.nn``."""
LOCKS = frozenset({"threading.Lock", "threading.RLock", "threading.Condition", "threading.Semaphore"})
"""What makes an object whose ``with`` TorchDynamo cannot enter."""

OPERATORS = frozenset(
    {
        "torch.library.custom_op",
        "torch.library.triton_op",
        "torch.library.impl",
        "torch.library.impl_abstract",
        "torch.library.register_fake",
        "torch.library.register_kernel",
        "torch.library.register_autograd",
        "torch.library.register_vmap",
        "torch._library.custom_op",
        "torch._custom_op.impl.custom_op",
        "torch.compiler.allow_in_graph",
        "torch._dynamo.allow_in_graph",
        "torch._dynamo.nonstrict_trace",
        "torch.compiler.assume_constant_result",
        "torch._dynamo.assume_constant_result",
        "torch.jit.script",
        "triton.jit",
        "triton.autotune",
        "triton.heuristics",
        "numba.jit",
        "numba.njit",
    }
)
"""Decorators whose function is one node of the graph, or none of it: its body is not traced by TorchDynamo."""
REGISTRATIONS = frozenset(
    "register_fake register_kernel register_autograd register_vmap register_torch_dispatch impl_abstract".split()
)
"""Methods of such an operator that take another function of its own."""
ARRAY_MAKERS = frozenset("array asarray arange linspace zeros ones full eye zeros_like ones_like".split())
"""Functions of numpy that make an array, which TorchDynamo traces as a tensor."""
ARRAY_FUNCTIONS = frozenset(
    "abs absolute acos acosh add all amax amin angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax "
    "argmin around asin asinh atan atan2 atanh average bitwise_and bitwise_invert bitwise_left_shift bitwise_not "
    "bitwise_or bitwise_right_shift bitwise_xor cbrt ceil clip concatenate conj conjugate copysign correlate cos cosh "
    "count_nonzero cross cumprod cumsum deg2rad degrees diff divide dot equal exp exp2 expm1 fabs fix flatnonzero flip "
    "float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside i0 imag inner invert isclose "
    "iscomplex isfinite isinf isnan isneginf isposinf isreal kron lcm ldexp left_shift less less_equal log log10 log1p "
    "log2 logical_and logical_not logical_or logical_xor matmul max maximum mean median min minimum mod multiply "
    "nan_to_num negative not_equal percentile positive pow power prod ptp rad2deg radians real reciprocal remainder "
    "right_shift rint round sign signbit sin sinc sinh sqrt square squeeze stack std subtract sum tan tanh true_divide "
    "trunc unique var vdot where".split()
)
"""Functions of numpy whose result TorchDynamo traces as an array, even that of plain numbers (measured, 2.13)."""
NUMBER_FUNCTIONS = frozenset(
    "abs absolute add around array asarray ceil clip copysign fabs fix floor floor_divide fmax fmin fmod maximum "
    "minimum mod multiply negative positive pow power remainder rint round sign subtract trunc".split()
)
"""Functions of numpy that give a float for a float; what they make of plain numbers has a value while tracing."""
FLOAT_FUNCTIONS = frozenset(
    "acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh deg2rad degrees divide exp exp2 expm1 "
    "float_power hypot log log10 log1p log2 rad2deg radians reciprocal sin sinc sinh sqrt square tan tanh "
    "true_divide".split()
)
"""The same, where the result of an int counts as a float, too."""
CONSTANTS = frozenset(f"{module}.{name}" for module in ("math", "numpy") for name in ("pi", "e", "inf", "nan"))
SILENT_REGISTRIES = ("reorderable_logging_functions", "ignore_logging_functions", "ignore_logger_methods")
"""Sets in ``torch._dynamo.config`` whose members do not break."""

PURE_BUILTINS = frozenset(
    "abs bool bytes callable chr complex dict divmod enumerate filter float format frozenset getattr hasattr hash hex "
    "id int isinstance issubclass iter len list map max min next oct ord pow range repr reversed round set slice "
    "sorted str sum super tuple type vars zip all any".split()
)
CHECKS = frozenset(
    {
        "torch._check",
        "torch._check_index",
        "torch._check_value",
        "torch._check_type",
        "torch._check_not_implemented",
        "torch._check_tensor_all",
        "torch._check_tensor_all_with",
        "torch._check_with",
        "torch._check_is_size",
    }
)


CONSTRUCTORS = frozenset({"__init__", "__post_init__"})
"""Methods that set up an object."""
TRACED_RECORDS = frozenset({"ModelOutput"})
"""Records of libraries whose own set-up TorchDynamo traces as a whole."""


def builds(name: str) -> bool:
    """Whether an untraceable call makes parameters, layers, classes or gradients."""
    made = name.startswith("torch.nn.") and not name.endswith(".forward")
    return name in BUILDERS or (made and name.rpartition(".")[2][:1].isupper())


def is_runtime(name: str, function: str) -> bool:
    """Whether a dotted name is a function of the runtime file, wherever it was put."""
    head, _, last = name.rpartition(".")
    module = head.rpartition(".")[2]
    return last == function and (module.startswith("_graphmend") or head == "graphmend_lsp.runtime")
