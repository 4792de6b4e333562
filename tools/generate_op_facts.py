"""Write ``graphmend_lsp/data/op_facts.json``: what torch's operators return, alias, mutate and read.

    .venv/bin/python tools/generate_op_facts.py            # rewrite the file
    .venv/bin/python tools/generate_op_facts.py --check    # compare only

Three sources, in this order: the schemas and operator tags of the installed torch; calls of every
operator with small sample tensors (result dtype, shape, aliasing: observed, not guessed); and the hand
tables below for what is Python only (they are checked by ``tests/flow/test_op_facts.py``).  The schema
of the file is documented in ``graphmend_lsp/flow/ops.py``.  Nothing here is imported by the product.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import datetime
import enum
import inspect
import json
import logging
import pathlib
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

TARGET = pathlib.Path(__file__).resolve().parent.parent / "graphmend_lsp" / "data" / "op_facts.json"

Fact = dict[str, Any]

# --------------------------------------------------------------------------------------------------
# Hand tables: only what neither schemas, tags nor sample calls can tell.
# --------------------------------------------------------------------------------------------------

_INPLACE = {"when": ["inplace=true"], "mutates": ["input"], "alias": "yes"}
_EVAL = {"when": ["training@2=false"], "random": False}


def _indices(position: int) -> Fact:
    return {"when": [f"return_indices@{position}=true"], "returns": "tensors", "count": 2}


META = {"metadata": True}
TENSOR: Fact = {"returns": "tensor"}
NONE: Fact = {"returns": "none"}
PY: Fact = {"returns": "python"}
BOOL: Fact = {"returns": "bool", **META}
INT: Fact = {"returns": "int", **META}
FLOAT: Fact = {"returns": "float", **META}
STR: Fact = {"returns": "str", **META}
DTYPE: Fact = {"returns": "dtype", **META}
META_PY: Fact = {"returns": "python", **META}
READ = {"host_read": True}
RNG = {"random": True}

_UNIQUE = {
    "returns": "tensor",
    "dynamic": True,
    "variants": [
        {"when": ["return_inverse=true", "return_counts=true"], "returns": "tensors", "count": 3},
        {"when": ["return_inverse=true"], "returns": "tensors", "count": 2},
        {"when": ["return_counts=true"], "returns": "tensors", "count": 2},
    ],
}

#: ``torch.NAME`` without a schema, or with a wrapper around it.
HAND_TORCH: dict[str, Fact] = {
    "are_deterministic_algorithms_enabled": BOOL,
    "as_tensor": {"returns": "tensor", "alias": "maybe"},
    "asarray": {"returns": "tensor", "alias": "maybe"},
    "compile": PY,
    "compiled_with_cxx11_abi": BOOL,
    "cond": PY,
    "device": {"returns": "device", **META},
    "dsmm": TENSOR,
    "enable_grad": PY,
    "finfo": META_PY,
    "from_dlpack": {"returns": "tensor", "alias": "yes"},
    "from_numpy": {"returns": "tensor", "alias": "yes"},
    "frombuffer": {"returns": "tensor", "alias": "yes"},
    "Generator": PY,
    "get_autocast_cpu_dtype": DTYPE,
    "get_autocast_gpu_dtype": DTYPE,
    "get_default_device": {"returns": "device", **META},
    "get_default_dtype": DTYPE,
    "get_deterministic_debug_mode": INT,
    "get_device_module": META_PY,
    "get_float32_matmul_precision": STR,
    "get_num_interop_threads": INT,
    "get_num_threads": INT,
    "get_rng_state": {"returns": "tensor", **RNG},
    "hsmm": TENSOR,
    "iinfo": META_PY,
    "inference_mode": PY,
    "initial_seed": INT,
    "is_autocast_cache_enabled": BOOL,
    "is_deterministic_algorithms_warn_only_enabled": BOOL,
    "is_grad_enabled": BOOL,
    "is_autocast_enabled": BOOL,
    "is_autocast_cpu_enabled": BOOL,
    "is_anomaly_enabled": BOOL,
    "is_inference_mode_enabled": BOOL,
    "is_storage": BOOL,
    "is_tensor": BOOL,
    "is_warn_always_enabled": BOOL,
    "load": PY,
    "lobpcg": {"returns": "tensors", "count": 2, **RNG},
    "manual_seed": {"returns": "python", **RNG},
    "no_grad": PY,
    "pca_lowrank": {"returns": "tensors", "count": 3, **RNG},
    "save": NONE,
    "seed": {"returns": "int", **RNG},
    "set_default_device": NONE,
    "set_default_dtype": NONE,
    "set_default_tensor_type": NONE,
    "set_deterministic_debug_mode": NONE,
    "set_float32_matmul_precision": NONE,
    "set_flush_denormal": {"returns": "bool"},
    "set_grad_enabled": PY,
    "set_num_interop_threads": NONE,
    "set_num_threads": NONE,
    "set_printoptions": NONE,
    "set_rng_state": {"returns": "none", **RNG},
    "set_warn_always": NONE,
    "Size": {"returns": "size", **META},
    "spmm": TENSOR,
    "svd_lowrank": {"returns": "tensors", "count": 3, **RNG},
    "sym_float": META_PY,
    "sym_int": META_PY,
    "sym_ite": META_PY,
    "sym_max": META_PY,
    "sym_min": META_PY,
    "sym_not": META_PY,
    "sym_sqrt": META_PY,
    "sym_sum": META_PY,
    "Tensor": {"returns": "tensor", "alias": "maybe"},
    "tensor": TENSOR,
    "typename": STR,
    "unique": _UNIQUE,
    "unravel_index": {"returns": "tensors", "count": 0},
    "use_deterministic_algorithms": NONE,
    "vmap": PY,
    "while_loop": PY,
    "autocast": PY,
    "where": {
        "returns": "tensor",
        "pointwise": True,
        "result_dtype": "promote",
        "params": ["condition", "input", "other"],
        "variants": [{"when": ["!input@1"], "returns": "tensors", "count": 0, "dynamic": True}],
    },
    "lu": {"returns": "tensors", "count": 2, "variants": [{"when": ["get_infos@2=true"], "count": 3}]},
    # python wrappers in front of a schema of the same name that says less
    "atleast_1d": {
        "returns": "tensor",
        "alias": "maybe",
        "variants": [
            {"when": ["#2"], "returns": "tensors", "count": 0},
            {"when": ["tensors@0:sequence"], "returns": "tensors", "count": 0},
        ],
    },
    "broadcast_shapes": {"returns": "size", **META},
    "unique_consecutive": _UNIQUE,
    "result_type": DTYPE,
    "promote_types": DTYPE,
    "can_cast": BOOL,
}
HAND_TORCH["atleast_2d"] = HAND_TORCH["atleast_3d"] = HAND_TORCH["atleast_1d"]

#: Other public torch functions that code meets in a forward, by full name.
HAND_OTHER: dict[str, Fact] = {
    "torch.compiler.is_compiling": BOOL,
    "torch.compiler.is_dynamo_compiling": BOOL,
    "torch.compiler.is_exporting": BOOL,
    "torch.jit.is_scripting": BOOL,
    "torch.jit.is_tracing": BOOL,
    "torch.jit.annotate": PY,
    "torch.onnx.is_in_onnx_export": BOOL,
    "torch.cuda.is_available": BOOL,
    "torch.cuda.device_count": INT,
    "torch.cuda.current_device": INT,
    "torch.cuda.get_device_capability": META_PY,
    "torch.cuda.get_device_name": STR,
    "torch.cuda.is_bf16_supported": BOOL,
    "torch.cuda.is_current_stream_capturing": BOOL,
    "torch.cuda.synchronize": NONE,
    "torch.cuda.empty_cache": NONE,
    "torch.cuda.memory_allocated": {"returns": "int"},
    "torch.backends.mps.is_available": BOOL,
    "torch.distributed.is_available": BOOL,
    "torch.distributed.is_initialized": BOOL,
    "torch.distributed.get_rank": INT,
    "torch.distributed.get_world_size": INT,
    "torch.get_autocast_dtype": DTYPE,
    "torch.nn.utils.clip_grad_norm_": {"returns": "tensor", "mutates": ["parameters"]},
    "torch.nn.utils.rnn.pad_sequence": TENSOR,
    "torch.nn.utils.rnn.unpad_sequence": {"returns": "python", **READ},
    "torch.nn.utils.rnn.pack_padded_sequence": PY,
    "torch.nn.utils.rnn.pad_packed_sequence": {"returns": "tensors", "count": 2},
    "torch.utils.checkpoint.checkpoint": PY,
}

#: ``torch.nn.functional.NAME``: Python functions; signatures and ``inplace`` are read from torch.
HAND_F: dict[str, Fact] = {
    "boolean_dispatch": PY,
    "assert_int_or_pair": NONE,
    "handle_torch_function": PY,
    "has_torch_function": BOOL,
    "has_torch_function_unary": BOOL,
    "has_torch_function_variadic": BOOL,
    "adaptive_max_pool1d": {"returns": "tensor", "variants": [_indices(2)]},
    "adaptive_max_pool2d": {"returns": "tensor", "variants": [_indices(2)]},
    "adaptive_max_pool3d": {"returns": "tensor", "variants": [_indices(2)]},
    "max_pool1d": {"returns": "tensor", "variants": [_indices(6)]},
    "max_pool2d": {"returns": "tensor", "variants": [_indices(6)]},
    "max_pool3d": {"returns": "tensor", "variants": [_indices(6)]},
    "fractional_max_pool2d": {"returns": "tensor", "variants": [_indices(4)], **RNG},
    "fractional_max_pool3d": {"returns": "tensor", "variants": [_indices(4)], **RNG},
    "adaptive_max_pool1d_with_indices": {"returns": "tensors", "count": 2},
    "adaptive_max_pool2d_with_indices": {"returns": "tensors", "count": 2},
    "adaptive_max_pool3d_with_indices": {"returns": "tensors", "count": 2},
    "max_pool1d_with_indices": {"returns": "tensors", "count": 2},
    "max_pool2d_with_indices": {"returns": "tensors", "count": 2},
    "max_pool3d_with_indices": {"returns": "tensors", "count": 2},
    "fractional_max_pool2d_with_indices": {"returns": "tensors", "count": 2, **RNG},
    "fractional_max_pool3d_with_indices": {"returns": "tensors", "count": 2, **RNG},
    "alpha_dropout": {
        "returns": "tensor",
        "alias": "maybe",
        "random": True,
        "variants": [{"when": ["!training@2"], "random": False}, _EVAL],
    },
    "dropout": {"returns": "tensor", "alias": "maybe", "random": True, "variants": [_EVAL]},
    "dropout1d": {"returns": "tensor", "alias": "maybe", "random": True, "variants": [_EVAL]},
    "dropout2d": {"returns": "tensor", "alias": "maybe", "random": True, "variants": [_EVAL]},
    "dropout3d": {"returns": "tensor", "alias": "maybe", "random": True, "variants": [_EVAL]},
    "feature_alpha_dropout": {
        "returns": "tensor",
        "alias": "maybe",
        "random": True,
        "variants": [{"when": ["!training@2"], "random": False}, _EVAL],
    },
    "rrelu": {
        "returns": "tensor",
        "random": True,
        "variants": [{"when": ["!training@3"], "random": False}, {"when": ["training@3=false"], "random": False}],
    },
    "gumbel_softmax": {"returns": "tensor", **RNG},
    "multi_head_attention_forward": {"returns": "tensors", "count": 2, **RNG},
    "batch_norm": {
        "returns": "tensor",
        "variants": [{"when": ["training@5=true"], "mutates": ["running_mean", "running_var"]}],
    },
    "instance_norm": {
        "returns": "tensor",
        "variants": [
            {"when": ["running_mean@1", "!use_input_stats@5"], "mutates": ["running_mean", "running_var"]},
            {"when": ["running_mean@1", "use_input_stats@5=true"], "mutates": ["running_mean", "running_var"]},
        ],
    },
    "interpolate": TENSOR,
    "ctc_loss": {"returns": "tensor", "dynamic": True},
    "gaussian_nll_loss": {"returns": "tensor", "variants": [{"when": ["var@2:tensor"], "host_read": True}]},
    "embedding": {
        "returns": "tensor",
        "variants": [{"when": ["max_norm@3"], "mutates": ["weight"]}],
    },
    "embedding_bag": {
        "returns": "tensor",
        "variants": [{"when": ["max_norm@3"], "mutates": ["weight"]}],
    },
    "one_hot": {"returns": "tensor", "dynamic": True, "variants": [{"when": ["num_classes@1"], "dynamic": False}]},
    "pad": {"returns": "tensor"},
    "scaled_dot_product_attention": {
        "returns": "tensor",
        "random": True,
        "variants": [{"when": ["!dropout_p@4"], "random": False}, {"when": ["dropout_p@4=zero"], "random": False}],
    },
}

_EXTREMUM = [
    {"when": ["dim@1:int"], "returns": "tensors", "count": 2},
    {"when": ["other@1:tensor"], "pointwise": True, "reduction": False, "shape": None, "result_dtype": "promote"},
]
_REPEAT = [
    {"when": ["output_size"]},
    {"when": ["repeats@1:tensor"], "dynamic": True},
    {"when": ["!repeats@1"], "dynamic": True},
]
_INT32 = [{"when": ["out_int32=true"], "result_dtype": "int32"}]
_ROUNDED = [{"when": ["rounding_mode"], "result_dtype": "promote"}]
#: Schema ops (functions, and methods with positions one less) where the overloads alone do not tell which
#: call means what.  These replace the variants that the schemas give; other keys are added.
HAND_SCHEMA: dict[str, Fact] = {
    "nonzero": {"variants": [{"when": ["as_tuple=true"], "returns": "tensors", "count": 0}]},
    "dropout": {"variants": [{"when": ["train@2=false"], "random": False}]},
    "alpha_dropout": {"variants": [{"when": ["train@2=false"], "random": False}]},
    "feature_dropout": {"variants": [{"when": ["train@2=false"], "random": False}]},
    "feature_alpha_dropout": {"variants": [{"when": ["train@2=false"], "random": False}]},
    "max": {"result_dtype": "same", "pointwise": False, "variants": _EXTREMUM},
    "min": {"result_dtype": "same", "pointwise": False, "variants": _EXTREMUM},
    "repeat_interleave": {"dynamic": False, "result_dtype": "same", "variants": _REPEAT},
    "bucketize": {"variants": _INT32},
    "searchsorted": {"shape": None, "variants": _INT32},
    "div": {"variants": _ROUNDED},
    "divide": {"variants": _ROUNDED},
    "stride": {"returns": "python", "metadata": True, "variants": [{"when": ["dim@1"], "returns": "int"}]},
    "size": {"returns": "size", "metadata": True, "variants": [{"when": ["dim@1"], "returns": "int"}]},
    "tensor_split": {"variants": [{"when": ["tensor_indices_or_sections@1:tensor"], "host_read": True}]},
    "view": {
        "result_dtype": "same",
        "variants": [{"when": ["dtype@1:dtype"], "result_dtype": None}],
    },
    "histogramdd": {"returns": "python"},
}

#: Tensor methods and attributes that no schema describes.
_A = {"kind": "attribute"}
_CAST: Fact = {"returns": "tensor", "alias": "maybe"}
HAND_METHODS: dict[str, Fact] = {
    "where": {"returns": "tensor", "pointwise": True, "result_dtype": "promote", "variants": []},
    "T": {"returns": "tensor", "alias": "yes", "result_dtype": "same", **_A},
    "H": {"returns": "tensor", "alias": "maybe", "result_dtype": "same", **_A},
    "mT": {"returns": "tensor", "alias": "yes", "result_dtype": "same", **_A},
    "mH": {"returns": "tensor", "alias": "maybe", "result_dtype": "same", **_A},
    "real": {"returns": "tensor", "alias": "yes", **_A},
    "imag": {"returns": "tensor", "alias": "yes", **_A},
    "data": {"returns": "tensor", "alias": "yes", "result_dtype": "same", **_A},
    "grad": {"returns": "tensor", "nullable": True, **_A},
    "shape": {"returns": "size", **META, **_A},
    "dtype": {"returns": "dtype", **META, **_A},
    "device": {"returns": "device", **META, **_A},
    "layout": {**META_PY, **_A},
    "ndim": {**INT, **_A},
    "itemsize": {**INT, **_A},
    "nbytes": {**INT, **_A},
    "requires_grad": {**BOOL, **_A},
    "is_leaf": {**BOOL, **_A},
    "retains_grad": {**BOOL, **_A},
    "is_cpu": {**BOOL, **_A},
    "is_cuda": {**BOOL, **_A},
    "is_ipu": {**BOOL, **_A},
    "is_maia": {**BOOL, **_A},
    "is_meta": {**BOOL, **_A},
    "is_mkldnn": {**BOOL, **_A},
    "is_mps": {**BOOL, **_A},
    "is_mtia": {**BOOL, **_A},
    "is_nested": {**BOOL, **_A},
    "is_quantized": {**BOOL, **_A},
    "is_sparse": {**BOOL, **_A},
    "is_sparse_csr": {**BOOL, **_A},
    "is_vulkan": {**BOOL, **_A},
    "is_xla": {**BOOL, **_A},
    "is_xpu": {**BOOL, **_A},
    "grad_fn": {**META_PY, "nullable": True, **_A},
    "grad_dtype": {"returns": "dtype", "nullable": True, **META, **_A},
    "name": {"returns": "str", "nullable": True, **META, **_A},
    "output_nr": {**INT, **_A},
    "volatile": {**BOOL, **_A},
    "ndimension": INT,
    "nelement": INT,
    "is_shared": BOOL,
    "dim_order": META_PY,
    "storage_type": PY,
    "storage": {"returns": "python", "alias": "yes"},
    "untyped_storage": {"returns": "python", "alias": "yes"},
    "data_ptr": {"returns": "int"},
    "const_data_ptr": {"returns": "int"},
    "tolist": {"returns": "python", **READ},
    "numpy": {"returns": "ndarray", "alias": "maybe"},
    "apply_": {"returns": "tensor", "alias": "yes", "mutates": ["self"], **READ},
    "map_": {"returns": "tensor", "alias": "yes", "mutates": ["self"], **READ},
    "map2_": {"returns": "tensor", "alias": "yes", "mutates": ["self"], **READ},
    "as_subclass": {"returns": "tensor", "alias": "yes"},
    "type": {
        "returns": "str",
        "metadata": True,
        "variants": [{"when": ["dtype@0"], "returns": "tensor", "alias": "maybe", "metadata": False}],
    },
    **dict.fromkeys(
        "bfloat16 bool byte cdouble cfloat char double float half int long short xpu ipu mtia".split(), _CAST
    ),
    "cpu": _CAST,
    "cuda": _CAST,
    "new": TENSOR,
    "new_tensor": TENSOR,
    "register_hook": PY,
    "register_post_accumulate_grad_hook": PY,
    "module_load": {"returns": "tensor", "alias": "maybe", "mutates": ["self"]},
    "share_memory_": {"returns": "tensor", "alias": "yes", "mutates": ["self"]},
    "to_sparse_coo": TENSOR,
    "unique": _UNIQUE,
    "unique_consecutive": _UNIQUE,
    "lu": {
        "returns": "tensors",
        "count": 2,
        "variants": [{"when": ["get_infos=true"], "returns": "tensors", "count": 3}],
    },
    # dunders
    "__len__": INT,
    "__bool__": {"returns": "bool", **READ},
    "__int__": {"returns": "int", **READ},
    "__float__": {"returns": "float", **READ},
    "__complex__": {"returns": "python", **READ},
    "__index__": {"returns": "int", **READ},
    "__contains__": {"returns": "bool", **READ},
    "__repr__": {"returns": "str", **READ},
    "__format__": {"returns": "str", **READ},
    "__hash__": INT,
    "__iter__": {"returns": "tensors", "count": 0, "alias": "yes"},
    "__reversed__": {"returns": "tensor"},
    "__array__": {"returns": "ndarray", "alias": "maybe"},
    "__getitem__": {
        "returns": "tensor",
        "alias": "maybe",
        "variants": [{"when": ["index@0:bool_tensor"], "dynamic": True, "alias": "no"}],
    },
    "__setitem__": {"returns": "none", "mutates": ["self"]},
    "__deepcopy__": TENSOR,
}

#: Operator methods and the schema op that they stand for.
DUNDERS = {
    "add": "add", "radd": "add", "sub": "sub", "rsub": "sub", "mul": "mul", "rmul": "mul",
    "truediv": "div", "rtruediv": "div", "floordiv": "floor_divide", "rfloordiv": "floor_divide",
    "mod": "remainder", "rmod": "remainder", "pow": "pow", "rpow": "pow", "matmul": "matmul",
    "rmatmul": "matmul", "and": "bitwise_and", "rand": "bitwise_and", "or": "bitwise_or",
    "ror": "bitwise_or", "xor": "bitwise_xor", "rxor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not",
    "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "ifloordiv": "floor_divide_",
    "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_", "ixor": "bitwise_xor_",
}  # fmt: skip

#: Schema ops whose value is read on the host although no tag says so.
HOST_READ = {"is_nonzero"}
#: Read a value, or have a shape that depends on data, inside a composite op (measured with Dynamo 2.13).
HOST_READ |= {"cov", "corrcoef"}
DYNAMIC = {"combinations", "ctc_loss"}
#: Calls that Dynamo 2.13 cannot trace although they read no data ("torch.* op returned non-Tensor" and the like).
#: The test measures every one that runs on a CPU.
UNSUPPORTED = {
    "method": {
        "dense_dim", "is_conj", "is_distributed", "is_inference", "is_neg", "is_pinned", "is_shared", "is_signed",
        "is_same_size", "is_set_to", "storage", "storage_offset", "resize_", "random_", "to_sparse", "to_sparse_coo",
        "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "to_mkldnn", "sparse_dim",
    },
    "function": {
        "torch.can_cast", "torch.get_default_device", "torch.get_device", "torch.get_deterministic_debug_mode",
        "torch.get_float32_matmul_precision", "torch.get_num_threads", "torch.get_rng_state", "torch.initial_seed",
        "torch.is_anomaly_enabled", "torch.is_conj", "torch.is_distributed", "torch.is_inference",
        "torch.is_inference_mode_enabled", "torch.is_neg", "torch.is_same_size", "torch.is_signed", "torch.is_storage",
        "torch.lobpcg", "torch.manual_seed", "torch.nn.utils.rnn.pack_padded_sequence", "torch.result_type",
        "torch.sparse_coo_tensor", "torch.typename", "torch.cuda.device_count",
    },
}  # fmt: skip
#: Ops that touch the random generator without the ``nondeterministic_seeded`` tag.
RANDOM = {
    "rand",
    "randn",
    "randint",
    "randperm",
    "rand_like",
    "randn_like",
    "randint_like",
    "normal",
    "native_dropout",
    "lstm",
    "gru",
    "rnn_tanh",
    "rnn_relu",
}
#: Schemas say ``Tensor(a)`` where the result is sometimes a view and sometimes a copy.
MAYBE_ALIAS = {
    "to", "contiguous", "reshape", "reshape_as", "flatten", "ravel", "pin_memory", "resolve_conj", "resolve_neg",
    "type_as", "to_dense", "conj", "adjoint", "positive", "coalesce", "cpu", "cuda",
    "dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "atleast_1d", "atleast_2d",
    "atleast_3d", "cartesian_prod", "conj_physical", "real", "broadcast_tensors", "meshgrid", "einsum",
    "chunk", "tensor_split", "sum_to_size", "block_diag", "tile", "repeat", "unsafe_chunk",
}  # fmt: skip
#: Never called with samples (they need hardware, change global state or take raw memory).
NO_SAMPLE = re.compile(
    r"(cudnn|miopen|mkldnn|fbgemm|quantize|fused_|batch_norm_|q_|int_repr|from_file|record_stream|sym_constrain|"
    r"embedding_renorm|set_|resize|sparse_|to_mkldnn|hspmm|smm|sspaddmm|fake_quant|choose_q|empty|new_empty|"
    r"cuda|to_sparse|share_memory|data$|retain_grad|backward|is_pinned|pin_memory|as_strided|dequantize|_)"
)

#: nn modules: flags by class.  "heavy": matmul, convolution, recurrence, attention, embedding.
_M: dict[str, str] = {}
# fmt: off
for _names, _flags in {
    "Linear Bilinear LazyLinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d "
    "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
    "GRUCell LSTMCell RNNCell RNNCellBase Embedding EmbeddingBag LinearCrossEntropyLoss "
    "AdaptiveLogSoftmaxWithLoss Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer LSTM GRU RNN RNNBase MultiheadAttention": "heavy",
    "LSTM GRU RNN RNNBase MultiheadAttention LSTMCell AdaptiveLogSoftmaxWithLoss": "tensors2",
    "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer "
    "LSTM GRU RNN RNNBase MultiheadAttention Dropout Dropout1d Dropout2d Dropout3d AlphaDropout "
    "FeatureAlphaDropout RReLU FractionalMaxPool2d FractionalMaxPool3d": "random",
    "Identity Flatten Unflatten Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout "
    "ReLU ReLU6 ELU CELU SELU SiLU Mish Hardsigmoid Hardswish Hardtanh LeakyReLU RReLU Threshold": "alias",
    "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
    "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d": "state",
    "Sequential ModuleList ModuleDict ParameterList ParameterDict Container DataParallel": "container",
    "Module": "python",
    "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d MaxPool1d MaxPool2d MaxPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d": "indices",
    "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AvgPool1d AvgPool2d AvgPool3d BCELoss "
    "BCEWithLogitsLoss CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d "
    "ConstantPad2d ConstantPad3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d Fold "
    "GELU GLU GaussianNLLLoss GroupNorm Hardshrink HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LPPool1d "
    "LPPool2d LPPool3d LayerNorm LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss "
    "MaxUnpool1d MaxUnpool2d MaxUnpool3d MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss "
    "NLLLoss NLLLoss2d PReLU PairwiseDistance PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm "
    "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d "
    "Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh "
    "Tanhshrink Upsample UpsamplingBilinear2d UpsamplingNearest2d "
    "TripletMarginLoss TripletMarginWithDistanceLoss Unfold ZeroPad1d ZeroPad2d ZeroPad3d": "",
}.items():
    # fmt: on
    for _name in _names.split():
        _M[_name] = " ".join([*filter(None, [_M.get(_name, ""), _flags])])
HAND_MODULES = _M

#: Attributes of classes that cannot be imported here, and names that configurations and wrappers use.
FOREIGN_NAMES = set(
    # PIL.Image.Image
    "size mode convert resize rotate crop save show copy paste split filter getpixel putpixel thumbnail info "
    # models, configurations, engines, trainers, selectors
    "device dtype name type data backward select storage layout new solve record_stream register_hook is_distributed "
    "is_shared output_nr volatile H set_ inverse".split()
)

# --------------------------------------------------------------------------------------------------
# Schemas
# --------------------------------------------------------------------------------------------------

Schema = Any

_HOST_TYPES = {
    "Tensor": "tensor", "bool": "bool", "int": "int", "float": "float", "str": "str", "number": "python",
    "SymInt": "int", "Device": "device",
}  # fmt: skip


def _schemas() -> dict[str, list[Schema]]:
    found: dict[str, list[Schema]] = {}
    for schema in torch._C._jit_get_all_schemas():  # pyright: ignore
        if not schema.name.startswith("aten::"):
            continue
        full = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if not torch._C._dispatch_has_kernel(full):  # pyright: ignore
            continue  # TorchScript's own, for lists and strings
        kinds = [str(a.type) for a in schema.arguments]
        returns = [str(r.type) for r in schema.returns]
        if not any("Tensor" in k for k in kinds + returns):
            continue
        found.setdefault(schema.name[6:], []).append(schema)
    for schemas in found.values():
        schemas.sort(key=lambda s: (len([a for a in s.arguments if not a.has_default_value()]), s.overload_name))
    return found


def _is_out(schema: Schema) -> bool:
    return any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)


def _tags(schema: Schema) -> set[str]:
    packet = getattr(torch.ops.aten, schema.name[6:], None)
    op = getattr(packet, schema.overload_name or "default", None)
    return {str(t).removeprefix("Tag.") for t in op.tags} if op is not None else set()


def _returns(schema: Schema) -> tuple[str, int]:
    kinds = [str(r.type) for r in schema.returns]
    if not kinds:
        return "none", 0
    if len(kinds) > 1:
        return ("tensors", len(kinds)) if all(k == "Tensor" for k in kinds) else ("python", 0)
    if kinds[0] in ("List[Tensor]",):
        return "tensors", 0
    if kinds[0] in _HOST_TYPES:
        return _HOST_TYPES[kinds[0]], 0
    return "python", 0


def _write_names(schema: Schema) -> list[str]:
    return [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write and not a.kwarg_only]


def _aliases(schema: Schema) -> bool:
    return any(r.alias_info is not None for r in schema.returns)


def _params(schema: Schema, method: bool) -> list[str]:
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    return [n for n in names if n != "self"] if method else ["input" if n == "self" else n for n in names]


_TENSOR_TAKEN = {("full", "fill_value")}
"""Numbers in the schema for which Python takes a tensor, too, and does not read it (measured, 2.13)."""
_READ_AS_NUMBER = {"narrow": "start"}
"""An overload takes a tensor there, and reads it (measured, 2.13)."""


def _numbers(schemas: list[Schema], method: bool) -> list[str]:
    """Arguments that are numbers, or lists of numbers, in every overload that has them."""
    plain: dict[str, bool] = {}
    for schema in schemas:
        for argument in schema.arguments:
            name = argument.name if method or argument.name != "self" else "input"
            kind = str(argument.type)
            for wrapped in ("Optional", "List"):
                kind = re.sub(rf"{wrapped}\[(.*)\]", r"\1", kind)
            plain[name] = plain.get(name, True) and kind in ("int", "SymInt", "float", "number", "bool")
    for schema in schemas:  # where another overload takes a tensor at the same place
        own = _params(schema, method)
        kinds = {a.name if method or a.name != "self" else "input": str(a.type) for a in schema.arguments}
        for other in schemas:
            for name, rival in zip(own, _params(other, method), strict=False):
                if "Tensor" in {str(a.type) for a in other.arguments if a.name == rival} and kinds[name] != "Tensor":
                    plain[name] = False
    others = ("dtype", "layout", "memory_format", "pin_memory", "device", "implicit")
    return sorted(name for name, is_plain in plain.items() if is_plain and name not in others)


def schema_fact(name: str, schemas: list[Schema], method: bool, writes_to: str) -> Fact | None:
    """What the overloads that Python reaches under this name have in common, and their variants."""
    plain = [s for s in schemas if not _is_out(s)]
    if method:
        plain = [s for s in plain if any(a.name == "self" and str(a.type) == "Tensor" for a in s.arguments)]
    if not plain:
        plain = [s for s in schemas if not method]
    if not plain:
        return None
    overloads: list[tuple[Schema, Fact]] = []
    for schema in plain:
        tags = _tags(schema)
        returns, count = _returns(schema)
        fact: Fact = {"returns": returns}
        if count:
            fact["count"] = count
        if "dynamic_output_shape" in tags:
            fact["dynamic"] = True
        if "data_dependent_output" in tags:
            fact["host_read"] = True
        overloads.append((schema, fact))
    # The default is the overload with the fewest required arguments.
    base_schema, base = overloads[0]
    result: Fact = dict(base)
    tags = set().union(*(_tags(s) for s in plain))
    if "nondeterministic_seeded" in tags or name in RANDOM:
        result["random"] = True
    if "pointwise" in tags and base["returns"] == "tensor":
        result["pointwise"] = True
    if "reduction" in tags:
        result["reduction"] = True
    if name in HOST_READ:
        result["host_read"] = True
    if name in DYNAMIC:
        result["dynamic"] = True
    if "inplace_view" in tags:
        result["inplace_view"] = True
    writes = sorted({"input" if n == "self" and not method else n for s in plain for n in _write_names(s)})
    if any(_is_out(s) for s in schemas) and not method:
        result["out_argument"] = True
    if writes:
        result["mutates"] = writes
    if any(_write_names(s) for s in plain):
        result["alias"] = "yes"
    elif any(_aliases(s) for s in plain):
        result["alias"] = "maybe" if name in MAYBE_ALIAS or not all(_aliases(s) for s in plain) else "yes"
    elif name in MAYBE_ALIAS:
        result["alias"] = "maybe"
    if result["returns"] not in ("tensor", "tensors", "none", "python") and not result.get("host_read"):
        if not writes and not result.get("random"):
            result["metadata"] = True
    if any(a.name == "dtype" for s in plain for a in s.arguments):
        result["dtype_argument"] = True
    result["params"] = max((_params(s, method) for s in plain), key=len)
    numbers = [each for each in _numbers(plain, method) if (name, each) not in _TENSOR_TAKEN]
    numbers += [_READ_AS_NUMBER[name]] if name in _READ_AS_NUMBER else []
    if numbers:
        result["numbers"] = numbers
    variants: list[Fact] = []
    seen: set[str] = set()
    for schema, fact in overloads[1:]:
        if fact == base:
            continue
        when = _decisive(schema, base_schema, [s for s, f in overloads if f != fact], method)
        changed = {k: fact.get(k, default) for k, default in _DEFAULTS.items() if fact.get(k) != base.get(k)}
        variant = {"when": when, **changed}
        if json.dumps(variant) not in seen:
            seen.add(json.dumps(variant))
            variants.append(variant)
    hand = HAND_SCHEMA.get(name)
    if hand is not None:
        variants = hand.get("variants", variants)
        if method:
            variants = [{**v, "when": [_shifted(c) for c in v["when"]]} for v in variants]
        result.update({k: v for k, v in hand.items() if k != "variants"})
    if variants:
        result["variants"] = variants
    return result


def _shifted(condition: str) -> str:
    """The same condition for a method, whose arguments stand one place further left."""
    return re.sub(r"@(\d+)", lambda m: f"@{int(m[1]) - 1}", condition)


def _kind_of(type_: str) -> str:
    type_ = re.sub(r"Optional\[(.*)\]", r"\1", type_)
    return {"Tensor": "tensor", "int": "int", "SymInt": "int", "str": "str", "bool": "bool", "number": "number",
            "float": "number"}.get(
        type_, "sequence" if type_.startswith("List") else "other"
    )


def _decisive(schema: Schema, base: Schema, others: list[Schema], method: bool) -> list[str]:
    """The condition that tells this overload from the others, see ``OpFact.variants``."""
    rows = [a for a in schema.arguments if not (method and a.name == "self")]
    other_names = {a.name for s in others for a in s.arguments}
    for index, argument in enumerate(rows):
        if argument.name not in other_names and not argument.has_default_value():
            clash = any(sum(not (method and a.name == "self") for a in s.arguments) > index for s in others)
            name = "input" if argument.name == "self" else argument.name
            return [f"{name}@{index}" + (f":{_kind_of(str(argument.type))}" if clash else "")]
    for index, argument in enumerate(rows):
        name = "input" if argument.name == "self" else argument.name
        kinds = {_kind_of(str(a.type)) for s in others for a in s.arguments if a.name == argument.name}
        if not argument.has_default_value() and _kind_of(str(argument.type)) not in kinds:
            return [f"{name}@{index}:{_kind_of(str(argument.type))}"]
    required = [a for a in rows if not a.has_default_value()]
    return [f"#{len(required)}"]


_DEFAULTS: Fact = {"returns": "tensor", "count": 0, "dynamic": False, "host_read": False}

# --------------------------------------------------------------------------------------------------
# Sample calls
# --------------------------------------------------------------------------------------------------

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int64, torch.int32, torch.int16)
SAMPLE_DTYPES = (*FLOATS, *INTS, torch.bool)
#: Shapes tried, first that works decides dtype questions; all that work decide shape questions.
SHAPES: tuple[tuple[int, ...], ...] = ((3, 3), (4,), (2, 5), (2, 3, 4), (2, 3, 3), (1, 2, 4, 4), (1, 2, 4, 4, 4))


_SAMPLES: dict[tuple[tuple[int, ...], torch.dtype], torch.Tensor] = {}


def _sample(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    cached = _SAMPLES.get((shape, dtype))
    if cached is None:
        cached = _SAMPLES[shape, dtype] = _new_sample(shape, dtype)
    return cached.clone()


def _new_sample(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    count = 1
    for size in shape:
        count *= size
    base = (torch.arange(count, dtype=torch.float64).reshape(shape) * 7 % 11 + 1) / 14
    if shape == (3, 3):
        base = (base + base.mT) / 8 + torch.eye(3, dtype=torch.float64) * 0.5  # positive definite
    if dtype.is_floating_point:
        return base.to(dtype)
    if dtype == torch.bool:
        return base > 0.5
    return (base * 10).to(dtype)


def _argument(name: str, kind: str, x: torch.Tensor, number: Any, other: torch.dtype | None) -> Any:
    """A plausible value for a required argument: one that shows whether the result's shape depends on it."""
    shape = tuple(x.shape)
    rank = len(shape)
    if kind in ("tensor", "tensors"):
        if name in ("index", "indices", "target"):
            value = torch.zeros((1, *shape[1:]), dtype=torch.int64)
        elif name in ("mask", "condition"):
            value = torch.ones(shape, dtype=torch.bool)
        else:
            value = x.clone() if other is None else x.to(other)
        return value if kind == "tensor" else [value, value.clone()]
    table = {
        "size": (x.numel(),), "shape": (x.numel(),), "dims": tuple(reversed(range(rank))), "kernel_size": 2,
        "output_size": 2, "repeats": 2 if kind == "int" else (2,) * rank, "padding": (1, 1), "pad": (1, 1),
        "sections": 1, "axis0": 0, "axis1": -1, "dim0": 0, "dim1": -1, "source": 0, "destination": -1, "shifts": 1,
        "k": 1, "length": 1, "num_samples": 2, "chunks": 1, "split_size": 1, "groups": 1, "downscale_factor": 2,
        "upscale_factor": 2, "end": 3, "n": 2, "normalized_shape": shape[-1:], "num_groups": 1,
    }  # fmt: skip
    if name in table:
        return table[name]
    if kind == "bool":
        return False
    if kind == "int":
        return 1 if name == "p" else 0
    if kind == "number":
        return {"p": 0.5, "q": 0.5}.get(name, number)
    if kind == "sequence":
        return [0]
    if kind == "str":
        return "sum"
    raise LookupError(name)


Call = Callable[[torch.Tensor, Any, "torch.dtype | None"], Any]


def _caller(name: str, target: Any, schema: Schema | None, method: bool) -> Call | None:
    """A function of one tensor (and a number for scalar operands) that calls ``target``."""
    rows: list[tuple[str, str, bool]] = []
    if schema is not None:
        for argument in schema.arguments:
            if not argument.has_default_value():
                kind = _kind_of(str(argument.type))
                if kind == "sequence" and "Tensor" in str(argument.type):
                    rows.append((argument.name, "tensors", argument.kwarg_only))
                else:
                    rows.append((argument.name, kind, argument.kwarg_only))
    else:
        try:
            signature = inspect.signature(target)
        except (TypeError, ValueError):
            return None
        for parameter in signature.parameters.values():
            if parameter.default is not parameter.empty:
                continue
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            hint = str(parameter.annotation)
            unannotated_first = not rows and parameter.annotation is parameter.empty
            kinds = (word for word in ("bool", "int") if word in hint)
            kind = "tensor" if "Tensor" in hint or unannotated_first else next(kinds, "number")
            if "List" in hint or "Broadcasting" in hint or "list" in hint:
                kind = "sequence"
            rows.append((parameter.name, kind, parameter.kind is parameter.KEYWORD_ONLY))
    if method:
        rows = [("self", "tensor", False), *(r for r in rows if r[0] != "self")]
    if not rows or rows[0][1] not in ("tensor", "tensors"):
        return None
    first_is_list = rows[0][1] == "tensors"

    def call(x: torch.Tensor, number: Any = 1, other: torch.dtype | None = None) -> Any:
        second = x.clone() if other is None else x.to(other)
        positional: list[Any] = [[x, second] if first_is_list else x]
        keywords: dict[str, Any] = {}
        for argument_name, kind, keyword_only in rows[1:]:
            value = _argument(argument_name, kind, x, number, other)
            if keyword_only:
                keywords[argument_name] = value
            else:
                positional.append(value)
        return target(*positional, **keywords)

    return call


def _try(call: Call, x: torch.Tensor, number: Any = 1, other: torch.dtype | None = None) -> Any:
    try:
        return call(x, number, other)
    except Exception:
        return None


def _only_tensor(result: Any) -> torch.Tensor | None:
    if isinstance(result, torch.Tensor):
        return result
    return None


def observe(name: str, calls: list[Call], mutates: bool) -> Fact:
    """What sample calls show: result dtype, shape against the input's, whether storage is shared."""
    seen: Fact = {}
    dtypes: dict[torch.dtype, set[torch.dtype]] = {}
    shapes: dict[str, set[bool]] = {"same": set(), "scalar": set()}
    shapes_run: set[tuple[int, ...]] = set()
    shares: set[bool] = set()
    for call in calls:
        for dtype in SAMPLE_DTYPES:
            for shape in SHAPES if dtype is torch.float32 else SHAPES[:-1]:
                x = _sample(shape, dtype)
                before = x.clone()
                result = _try(call, x)
                if result is None:
                    continue
                second = _only_tensor(_try(call, _sample(shape, dtype), 2.5))
                if second is not None and isinstance(result, torch.Tensor):
                    dtypes.setdefault(dtype, set()).add(second.dtype)
                out = _only_tensor(result)
                if out is None:
                    break
                dtypes.setdefault(dtype, set()).add(out.dtype)
                if out.layout is torch.strided and out.numel() and out.device.type == "cpu":
                    shares.add(out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())
                if not mutates and not torch.equal(before.nan_to_num(), x.nan_to_num()):
                    seen["wrote"] = True
                if dtype is torch.float32:
                    shapes["same"].add(out.shape == before.shape)
                    shapes["scalar"].add(out.dim() == 0)
                    shapes_run.add(shape)
                    continue
                break
    if True in shares:
        seen["shares"] = "maybe" if False in shares else "yes"
    if len(shapes_run) >= 2 or any(len(s) < 2 or s[-1] != s[-2] for s in shapes_run):
        if shapes["same"] == {True}:
            seen["shape"] = "same"
            seen["pointwise"] = any(_elementwise(c) for c in calls)
        elif shapes["scalar"] == {True}:
            seen["shape"] = "scalar"
    if dtypes:
        seen["result_dtype"] = _mixed(calls, _dtype_class(dtypes))
    return seen


_PAIRS = (
    (torch.float32, torch.float64), (torch.float64, torch.float32), (torch.float16, torch.float32),
    (torch.float32, torch.bfloat16), (torch.float32, torch.int64), (torch.int64, torch.float32),
)  # fmt: skip


def _mixed(calls: list[Call], base: str | None) -> str | None:
    """Whether ``base`` holds where the other tensor operands have another dtype."""
    if base not in ("same", "float", "sum"):
        return base
    left_wins = promoted = True
    ran = False
    for call in calls:
        for left, right in _PAIRS:
            out = _only_tensor(_try(call, _sample((3, 3), left), 1, right))
            alone = _only_tensor(_try(call, _sample((3, 3), left)))
            if out is None or alone is None:
                continue
            ran = True
            left_wins &= out.dtype == alone.dtype
            promoted &= out.dtype == torch.promote_types(left, right)
    return base if not ran or left_wins else "promote" if promoted and base == "same" else None


def _elementwise(call: Call) -> bool:
    """Whether every element of the result depends on the element of the input at its place only."""
    x = _sample((2, 5), torch.float32)
    views = (x.clone(), x.flip(0), x.flip(1), x[:1].clone(), x.reshape(-1).clone())
    results = [_only_tensor(_try(call, v)) for v in views]
    if any(r is None or r.is_complex() for r in results):
        return False
    plain, up, left, row, flat = (r for r in results if r is not None)
    pairs = ((up.flip(0), plain), (left.flip(1), plain), (row, plain[:1]), (flat.reshape(plain.shape), plain))
    return all(a.shape == b.shape and torch.allclose(a.double(), b.double(), equal_nan=True) for a, b in pairs)


def _dtype_class(dtypes: dict[torch.dtype, set[torch.dtype]]) -> str | None:
    if any(len(v) > 1 for v in dtypes.values()):
        return None
    table = {k: next(iter(v)) for k, v in dtypes.items()}
    values = set(table.values())
    if values == {torch.bool}:
        return "bool" if len(table) > 1 else None
    if values == {torch.int64} and any(d in table for d in FLOATS):
        return "int64"
    rest = {d: table[d] for d in INTS if d in table}
    if any(table[d] != d for d in FLOATS if d in table) or not (rest or torch.float32 in table):
        return None
    if all(d == v for d, v in rest.items()):
        return "same"
    if torch.bool in table:
        rest[torch.bool] = table[torch.bool]
    if all(v == torch.float32 for v in rest.values()):
        return "float"
    if all(v == torch.int64 for v in rest.values()):
        return "sum"
    return None


def _promotion(call: Callable[[Any, Any], Any], base: str | None) -> str | None:
    """How a second operand (tensor or number) takes part in the result's dtype."""
    ran = 0
    exact = real = True
    dtypes = (*FLOATS[:3], *INTS[:2])
    for left in dtypes:
        for right in (*dtypes, 2, 2.5):
            x = _sample((4,), left)
            y = _sample((4,), right) if isinstance(right, torch.dtype) else right
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    out = call(x, y)
            except Exception:
                continue
            if not isinstance(out, torch.Tensor):
                return None
            ran += 1
            expected = torch.result_type(x, y)
            exact &= out.dtype == expected
            real &= out.dtype == (expected if expected.is_floating_point else torch.float32)
    if not ran:
        return base
    return "promote" if exact else "promote_float" if real else base if base in ("bool", "int64", "same") else None

# --------------------------------------------------------------------------------------------------
# Putting the facts together
# --------------------------------------------------------------------------------------------------


def _public_callables(module: Any) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if name.startswith("_") or isinstance(value, type) or not callable(value):
            continue
        if getattr(value, "__module__", "") in ("typing", "typing_extensions"):
            continue
        yield name, value


def _complete(fact: Fact, name: str, target: Any, schemas: list[Schema], method: bool) -> Fact:
    """Adds what sample calls show to what the schemas say; the schemas win where both speak."""
    if fact["returns"] not in ("tensor", "tensors") or NO_SAMPLE.match(name) or fact.get("metadata"):
        return fact
    plain = [s for s in schemas if not _is_out(s) and not (method and all(a.name != "self" for a in s.arguments))]
    calls: list[Call] = []
    if plain:
        fewest = min(sum(not a.has_default_value() for a in s.arguments) for s in plain)
        for schema in plain:
            if sum(not a.has_default_value() for a in schema.arguments) == fewest:
                call = _caller(name, target, schema, method)
                if call is not None:
                    calls.append(call)
    else:
        call = _caller(name, target, None, method)
        if call is not None:
            calls.append(call)
    if name in RECIPES:
        recipe = RECIPES[name]
        calls = [lambda x, number=1, other=None: recipe(x)]
    elif name in BINARY:
        pair = BINARY[name](target)
        calls = [lambda x, number=1, other=None: pair(x, number)]
    mutates = bool(fact.get("mutates"))
    seen = observe(name, calls, mutates)
    if seen.get("wrote"):
        fact["mutates"] = sorted({*fact.get("mutates", []), "self" if method else "input"})
    if seen.get("shares") and "alias" not in fact and not mutates:
        fact["alias"] = "maybe"
    if fact["returns"] == "tensor":
        chosen = name in RECIPES and seen.get("shape") == "same" and name not in RECIPE_SHAPES
        if "shape" in seen and name not in SHAPE_OF_OTHER and not chosen:
            fact["shape"] = seen["shape"]
            if seen.get("pointwise") and not fact.get("random") and name not in NOT_POINTWISE:
                fact["pointwise"] = True
        dtype = seen.get("result_dtype")
        operands = _binary(plain) or name in BINARY
        if operands and not mutates:
            dtype = _promotion(BINARY.get(name, lambda f: f)(target), dtype)
        if dtype is not None and name not in NO_DTYPE and "result_dtype" not in fact:
            fact["result_dtype"] = dtype
        of_list = any(str(s.arguments[0].type) == "List[Tensor]" for s in plain if s.arguments)
        if seen.get("shape") == "scalar" and not of_list:
            fact["reduction"] = True
        _shape_variants(fact, name, plain, target, method)
    return fact


#: Arguments that change the shape that the plainest call has.
_SHAPE_ARGUMENTS = {
    "scalar": ("dim", "keepdim", "reduction", "reduce", "size_average"),
    "same": ("n", "s", "size", "output_size"),
}


def _shape_variants(fact: Fact, name: str, schemas: list[Schema], target: Any, method: bool) -> None:
    shape = fact.get("shape")
    required: set[str] = set()
    if shape == "same":
        required = {a.name for s in schemas for a in s.arguments if not a.has_default_value()}
    if shape is None or name in ("max", "min"):
        return
    rows = [[a.name for a in s.arguments if not (method and a.name == "self")] for s in schemas]
    if not rows:
        rows = [_signature(target) or []]
    keyword_only = {a.name for s in schemas for a in s.arguments if a.kwarg_only}
    conditions: list[str] = []
    for row in rows:
        for index, argument in enumerate(row):
            if argument in _SHAPE_ARGUMENTS[shape] and argument not in required:
                condition = argument if argument in keyword_only else f"{argument}@{index}"
                if condition not in conditions:
                    conditions.append(condition)
    variants = [{"when": [c], "shape": None} for c in conditions]
    if variants and not fact.get("variants"):
        fact["variants"] = variants
    elif variants:
        fact["variants"] = [*fact["variants"], *variants]


#: The result has the shape of another operand.
SHAPE_OF_OTHER = {
    "view_as", "expand_as", "reshape_as", "searchsorted", "where", "expand", "broadcast_to", "sum_to_size", "solve",
    "lu_solve", "solve_triangular", "ldl_solve",
}  # fmt: skip
#: Elementwise in the sample call only.
NOT_POINTWISE = {
    "scatter", "scatter_", "slice_scatter", "slice_copy", "slice_inverse", "masked_scatter", "masked_scatter_", "isin",
}
#: The result's dtype is that of an argument.
NO_DTYPE = {"to", "type_as", "where", "complex", "polar", "bincount"}
#: How to call ops with one optional second operand as binary ones.
BINARY: dict[str, Callable[[Any], Callable[[Any, Any], Any]]] = {
    "clamp": lambda f: lambda x, y: f(x, min=y),
    "clip": lambda f: lambda x, y: f(x, max=y),
}


_SECOND = {"other", "exponent", "weight", "min", "max", "value", "mat2", "vec", "vec2", "tensor", "input"}


def _binary(schemas: list[Schema]) -> bool:
    """Whether an op combines exactly two operands, each a tensor or a number."""
    for schema in schemas:
        required = [a for a in schema.arguments if not a.has_default_value()]
        if len(required) == 2 and all(_kind_of(str(a.type)) in ("tensor", "number") for a in required):
            if required[1].name in _SECOND:
                return True
    return False


def _signature(target: Any) -> list[str] | None:
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD or p.kind is p.POSITIONAL_ONLY]


def build() -> dict[str, Any]:
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return _build()


#: Losses that reduce by default in ``torch.nn.functional`` but not under ``torch``.
_OTHER_REDUCTION = ("binary_cross_entropy_with_logits", "kl_div")


def _build() -> dict[str, Any]:
    schemas = _schemas()
    functions: dict[str, Fact] = {}
    for module, prefix in ((torch, ""), (torch.linalg, "linalg_"), (torch.fft, "fft_"), (torch.special, "special_")):
        for name, target in _public_callables(module):
            key = f"{module.__name__}.{name}"
            found = schemas.get(prefix + name, [])
            fact = schema_fact(prefix + name, found, False, "input") if found else None
            if fact is not None:
                fact = _complete(fact, name, target, found, False)
            if module is torch and name in HAND_TORCH:
                fact = {**(fact or {}), **HAND_TORCH[name]}
                _drop_stale(fact, HAND_TORCH[name])
            if fact is None:
                fact = dict(PY)
            functions[key] = fact
    for name in _OTHER_REDUCTION:
        for key in ("shape", "reduction", "variants"):
            functions[f"torch.{name}"].pop(key, None)
    for name in sorted(HAND_TORCH):
        functions.setdefault(f"torch.{name}", dict(HAND_TORCH[name]))
    for name in sorted(dir(torch)):
        value = getattr(torch, name)
        if name.startswith("_"):
            continue
        if isinstance(value, torch.dtype):
            functions[f"torch.{name}"] = {**DTYPE, **_A}
        elif isinstance(value, (torch.layout, torch.memory_format, torch.qscheme)):
            functions[f"torch.{name}"] = {**META_PY, **_A}
        elif type(value) is float:
            functions[f"torch.{name}"] = {**FLOAT, **_A}
    for name, target in _public_callables(F):
        functions[f"torch.nn.functional.{name}"] = _functional(name, target, schemas)
    for name in sorted(HAND_OTHER):
        functions[name] = dict(HAND_OTHER[name])
    methods: dict[str, Fact] = {}
    for name in sorted(dir(torch.Tensor)):
        if name.startswith("_"):
            continue
        methods[name] = _method(name, schemas)
    for name, op in DUNDERS.items():
        dunder = f"__{name}__"
        fact = dict(methods[op]) if op in methods else _method(op, schemas)
        fact.pop("params", None)
        fact.pop("numbers", None)
        fact.pop("variants", None)
        if dunder.startswith("__i") and name not in ("invert",) and op.endswith("_"):
            fact["mutates"] = ["self"]
        methods[dunder] = fact
    for name in sorted(HAND_METHODS):
        if name.startswith("__"):
            methods[name] = dict(HAND_METHODS[name])
    for name in UNSUPPORTED["method"]:
        methods[name]["unsupported"] = True
    for name in UNSUPPORTED["function"]:
        functions[name]["unsupported"] = True
    tensor_only, shared = tensor_names()
    return {
        "torch": torch.__version__.split("+")[0],
        "functions": {k: _tidy(v) for k, v in sorted(functions.items())},
        "methods": {k: _tidy(v) for k, v in sorted(methods.items())},
        "modules": {f"torch.nn.{k}": module_fact(v) for k, v in sorted(HAND_MODULES.items())},
        "tensor_only": tensor_only,
        "array_methods": shared,
    }


def _drop_stale(fact: Fact, hand: Fact) -> None:
    """A hand entry says what comes back: variants, counts and dtypes of the schema go with it."""
    for key in ("variants", "count", "metadata"):
        if key not in hand:
            fact.pop(key, None)
    if hand["returns"] != "tensor":
        for key in ("shape", "result_dtype", "reduction"):
            fact.pop(key, None)


def _functional(name: str, target: Any, schemas: dict[str, list[Schema]]) -> Fact:
    python = inspect.isfunction(target)
    found = schemas.get(name, []) or ([] if python else schemas.get(getattr(target, "__name__", name), []))
    if found and not python:
        fact = schema_fact(name, found, False, "input") or dict(PY)
        fact = _complete(fact, name, target, found, False)
    else:
        fact = dict(TENSOR)
        if found:
            of_schema = schema_fact(name, found, False, "input") or {}
            for key in ("random", "pointwise", "numbers"):
                if key in of_schema:
                    fact[key] = of_schema[key]
        fact = _complete(fact, name, target, [], False)
    names = _signature(getattr(F, f"{name}_with_indices", target))
    if names is not None:
        fact["params"] = names
        fact["numbers"] = [each for each in names if each in fact.get("numbers", []) or each == "size"]
    hand = HAND_F.get(name)
    if hand is not None:
        fact = {**fact, **hand}
        _drop_stale(fact, hand)
    parameters = names or []
    if "inplace" in parameters:
        first = parameters[0]
        variant = {**_INPLACE, "when": [f"inplace@{parameters.index('inplace')}=true"], "mutates": [first]}
        fact["variants"] = [*fact.get("variants", []), variant]
    return fact


def _method(name: str, schemas: dict[str, list[Schema]]) -> Fact:
    found = schemas.get(name, [])
    target = getattr(torch.Tensor, name, None)
    fact = schema_fact(name, found, True, "self") if found else None
    hand = HAND_METHODS.get(name)
    if fact is not None and callable(target) and hand is None:
        fact = _complete(fact, name, target, found, True)
    if hand is not None:
        fact = {**(fact or {}), **hand}
        _drop_stale(fact, hand)
        if name in CAST_DTYPES:
            fact["result_dtype"], fact["shape"] = CAST_DTYPES[name], "same"
        elif name in ("to", "cpu", "cuda", "type"):
            fact["shape"] = "same"
    if fact is None:
        fact = dict(PY)
    if not callable(target):
        fact["kind"] = "attribute"
    return fact


CAST_DTYPES = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "cdouble": "complex128", "cfloat": "complex64",
    "char": "int8", "double": "float64", "float": "float32", "half": "float16", "int": "int32", "long": "int64",
    "short": "int16",
}  # fmt: skip

#: F functions whose plain sample call needs shaped operands: a callable of one tensor.
RECIPES: dict[str, Any] = {
    "conv1d": lambda x: F.conv1d(_as(x, 1, 2, 6), _as(x, 2, 2, 3)),
    "conv2d": lambda x: F.conv2d(_as(x, 1, 2, 6, 6), _as(x, 2, 2, 3, 3)),
    "conv3d": lambda x: F.conv3d(_as(x, 1, 2, 6, 6, 6), _as(x, 2, 2, 3, 3, 3)),
    "conv_transpose1d": lambda x: F.conv_transpose1d(_as(x, 1, 2, 6), _as(x, 2, 2, 3)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(_as(x, 1, 2, 6, 6), _as(x, 2, 2, 3, 3)),
    "conv_transpose3d": lambda x: F.conv_transpose3d(_as(x, 1, 2, 6, 6, 6), _as(x, 2, 2, 3, 3, 3)),
    "bilinear": lambda x: F.bilinear(_as(x, 2, 3), _as(x, 2, 3), _as(x, 4, 3, 3)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "instance_norm": lambda x: F.instance_norm(x),
    "local_response_norm": lambda x: F.local_response_norm(x, 2),
    "lp_pool1d": lambda x: F.lp_pool1d(_as(x, 1, 2, 6), 2, 2),
    "lp_pool2d": lambda x: F.lp_pool2d(_as(x, 1, 2, 6, 6), 2, 2),
    "lp_pool3d": lambda x: F.lp_pool3d(_as(x, 1, 2, 6, 6, 6), 2, 2),
    "interpolate": lambda x: F.interpolate(_as(x, 1, 2, 4, 4), scale_factor=2),
    "upsample": lambda x: F.interpolate(_as(x, 1, 2, 4, 4), scale_factor=2),
    "grid_sample": lambda x: F.grid_sample(_as(x, 1, 2, 4, 4), _as(x, 1, 3, 3, 2), align_corners=False),
    "affine_grid": lambda x: F.affine_grid(_as(x, 1, 2, 3), [1, 1, 2, 2], align_corners=False),
    "max_pool1d": lambda x: F.max_pool1d(_as(x, 1, 2, 6), 2),
    "max_pool2d": lambda x: F.max_pool2d(_as(x, 1, 2, 6, 6), 2),
    "max_pool3d": lambda x: F.max_pool3d(_as(x, 1, 2, 6, 6, 6), 2),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(_as(x, 1, 2, 6), 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(_as(x, 1, 2, 6, 6), 2),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(_as(x, 1, 2, 6, 6, 6), 2),
    "fold": lambda x: F.fold(_as(x, 1, 4, 4), (3, 3), (2, 2)),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(_as(x, 3), _as(x, 3)),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(_as(x, 3), _as(x, 3)),
    "kl_div": lambda x: F.kl_div(_as(x, 3), _as(x, 3), reduction="sum"),
    "cross_entropy": lambda x: F.cross_entropy(_as(x, 2, 3), torch.tensor([0, 1])),
    "nll_loss": lambda x: F.nll_loss(_as(x, 2, 3), torch.tensor([0, 1])),
    "triplet_margin_loss": lambda x: F.triplet_margin_loss(_as(x, 2, 3), _as(x, 2, 3), _as(x, 2, 3)),
    "one_hot": lambda x: F.one_hot(torch.tensor([0, 1]), 3),
    "pad_sequence": lambda x: torch.nn.utils.rnn.pad_sequence([x, x]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", _as(x, 2, 3), _as(x, 3, 2)),
    "tensordot": lambda x: torch.tensordot(_as(x, 2, 3), _as(x, 3, 2), dims=1),
    "square": lambda x: x.square(),
    "unflatten": lambda x: x.unflatten(0, (1, -1)),
    "unfold": lambda x: x.unfold(0, 2, 1) if x.dim() == 1 else x.unfold(1, 2, 1),
}
#: Recipes that keep the shape by nature, not by the arguments chosen.
RECIPE_SHAPES = {"batch_norm", "instance_norm", "local_response_norm", "square"}


def _as(x: torch.Tensor, *shape: int) -> torch.Tensor:
    return torch.full(shape, 0.5).to(x.dtype)



def module_fact(flags: str) -> Fact:
    words = flags.split()
    fact: Fact = {w: True for w in ("heavy", "random", "state", "container", "alias") if w in words}
    host = "container" in words or "python" in words
    fact["returns"] = "tensors" if "tensors2" in words else "python" if host else "tensor"
    if "indices" in words:
        fact["indices"] = True
    return fact


_ORDER = (
    "kind", "returns", "count", "nullable", "dynamic", "host_read", "metadata", "unsupported", "alias", "mutates",
    "inplace_view", "random",
    "pointwise", "reduction", "shape", "result_dtype", "dtype_argument", "out_argument", "params", "numbers",
    "variants",
)  # fmt: skip


def _tidy(fact: Fact) -> Fact:
    """Canonical order, defaults left out."""
    out = {k: fact[k] for k in _ORDER if k in fact and fact[k] not in (None, False, [], 0)}
    unknown = set(fact) - set(_ORDER)
    if unknown:
        raise ValueError(f"unknown fact keys {sorted(unknown)}")
    return out


def tensor_names() -> tuple[list[str], list[str]]:
    """Names only tensors have, and names that tensors share with ``numpy.ndarray`` (and nothing else)."""
    import uuid

    import numpy

    core: set[str] = set(FOREIGN_NAMES)
    for cls in (
        str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, complex, bool, range, slice,
        type(None), type, type(re.compile("")), type(re.match("", "")), pathlib.Path, pathlib.PosixPath,
        torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList, torch.nn.ParameterDict,
        torch.optim.Optimizer, torch.dtype, torch.device, torch.Generator, random.Random, argparse.Namespace,
        argparse.ArgumentParser, logging.Logger, collections.OrderedDict, collections.defaultdict,
        collections.Counter, collections.deque, collections.ChainMap, collections.UserDict, enum.Enum, enum.IntEnum,
        enum.Flag, uuid.UUID, contextlib.ExitStack, Exception, torch.utils.data.DataLoader, torch.utils.data.Dataset,
    ):  # fmt: skip
        core.update(dir(cls))
    core.update(vars(collections.UserDict()))
    for name in sorted(HAND_MODULES):
        core.update(dir(getattr(torch.nn, name)))
    for module in (torch.nn.Linear(1, 1), torch.nn.Conv2d(1, 1, 1), torch.nn.MultiheadAttention(1, 1)):
        core.update(vars(module))
    # These share names like ``max`` with arrays only by accident: they do not weaken ARRAY_METHODS.
    loose: set[str] = set()
    for cls in (memoryview, datetime.datetime, datetime.timedelta, datetime.date):
        loose.update(dir(cls))
    own = {n for n in dir(torch.Tensor) if not n.startswith("_")}
    array = set(dir(numpy.ndarray))
    return sorted(own - core - loose - array), sorted((own & array) - core)


def render(data: dict[str, Any]) -> str:
    """One fact a line, so that a new torch shows as a readable diff."""
    parts: list[str] = ["{", f'"torch":{json.dumps(data["torch"])},']
    for section in ("functions", "methods", "modules"):
        rows = [f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in data[section].items()]
        parts.append(f'"{section}":{{\n' + ",\n".join(rows) + "\n},")
    parts.append(f'"tensor_only":{json.dumps(data["tensor_only"], separators=(",", ":"))},')
    parts.append(f'"array_methods":{json.dumps(data["array_methods"], separators=(",", ":"))}')
    parts.append("}")
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare with the committed file, write nothing")
    options = parser.parse_args()
    text = render(build())
    if options.check:
        same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
        print("up to date" if same else f"{TARGET} differs: run {sys.argv[0]}")
        return 0 if same else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
