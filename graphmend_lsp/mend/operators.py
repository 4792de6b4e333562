"""Operators of torch by what happens when they run although their branch was not taken.

A whitelist: what is in none of these sets is not known to be pure and total.  The measurements behind the sets are
those of ``torch.where``: the gradient of the side that is not selected is multiplied by zero, so an infinite slope
there becomes NaN.
"""

from __future__ import annotations

PURE = frozenset(
    "abs absolute neg negative positive relu relu6 leaky_relu elu celu selu gelu silu mish softplus softsign "
    "sigmoid logsigmoid tanh tanhshrink hardshrink softshrink threshold sin cos sinc atan arctan atan2 erf erfc "
    "hardtanh hardsigmoid hardswish clamp clip clamp_min clamp_max maximum minimum fmax fmin where masked_fill "
    "lerp add sub subtract mul multiply rsub square sum mean nansum nanmean logical_and logical_or logical_not "
    "logical_xor eq ne gt lt ge le greater less greater_equal less_equal not_equal isnan isinf isfinite isposinf "
    "isneginf isreal any all to float double half bfloat16 bool int long short byte char type_as detach clone "
    "contiguous zeros_like ones_like full_like new_zeros new_ones new_full zeros ones full tensor as_tensor "
    "scalar_tensor arange eye cumsum flip fliplr flipud roll rot90 transpose permute t swapaxes swapdims movedim "
    "unsqueeze squeeze expand expand_as broadcast_to reshape flatten ravel nan_to_num sign sgn signbit floor ceil "
    "round trunc fix frac tril triu bitwise_and bitwise_or bitwise_xor bitwise_not diag diagonal finfo iinfo size "
    "dim numel nelement stride element_size is_floating_point is_complex is_contiguous ndimension copysign "
    "heaviside logaddexp deg2rad rad2deg count_nonzero cat concat concatenate stack hstack vstack chunk unbind "
    "expand_dims is_tensor get_default_dtype is_grad_enabled device pad type".split()
)
STEEP = frozenset(
    "sqrt rsqrt log log2 log10 log1p acos asin arccos arcsin acosh arccosh atanh arctanh std std_mean logit "
    "dist cdist pdist cosine_similarity renorm".split()
)
"""An infinite slope at a finite argument."""
STEEP_BUT_BOUNDED = frozenset("sqrt rsqrt log log2 log10 log1p acos asin arccos arcsin atanh arctanh logit".split())
"""Finite slope once the argument is clamped by constants."""
LARGE = frozenset(
    "div divide true_divide reciprocal exp exp2 expm1 sinh cosh tan softmax log_softmax softmin logsumexp norm "
    "vector_norm var var_mean normalize prod cumprod layer_norm rms_norm group_norm logcumsumexp".split()
)
"""Finite for most finite arguments only: 0/0, overflow, an empty or constant slice."""
HEAVY = frozenset(
    "matmul mm bmm mv dot inner addmm baddbmm addbmm addmv einsum tensordot kron linear bilinear conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d embedding embedding_bag scaled_dot_product_attention "
    "multi_head_attention_forward interpolate grid_sample unfold fold fft ifft rfft irfft fft2 stft istft sort argsort "
    "topk chain_matmul multi_dot lstm gru max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool2d".split()
)
NO_OPERANDS = frozenset(
    "tensor as_tensor scalar_tensor zeros ones full arange eye cat concat concatenate stack hstack vstack finfo iinfo "
    "is_tensor get_default_dtype is_grad_enabled device".split()
)
"""Of those above, the ones that take no tensor first."""
OPERANDS: dict[str, int] = {
    **dict.fromkeys(("where", "lerp", "masked_fill"), 3),
    **dict.fromkeys(
        "maximum minimum fmax fmin atan2 add sub subtract mul multiply rsub logical_and logical_or logical_xor eq ne "
        "gt lt ge le greater less greater_equal less_equal not_equal bitwise_and bitwise_or bitwise_xor copysign "
        "heaviside logaddexp clamp_min clamp_max div divide true_divide floor_divide fmod remainder pow type_as "
        "expand_as".split(),
        2,
    ),
}
"""How many of the first arguments are tensors or numbers, where more than one is."""
FINITE_SLOPE: dict[str, tuple[float, float | None]] = {
    "log1p": (-1.0, None),
    "logit": (0.0, 1.0),
    **dict.fromkeys(("acos", "asin", "arccos", "arcsin", "atanh", "arctanh"), (-1.0, 1.0)),
}
"""Open interval in which the slope is finite; above 0 for those not named."""
