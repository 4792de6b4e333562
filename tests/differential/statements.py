"""What stands around the sites: plain code, writes, containers, blocks, and functions that have sites of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import branches
import expressions as ex
import guards
import hosts
import reports
from program import Function, Program, Value

_SITES = {"where": branches.site, "defer": reports.site, "trap": guards.site, "host": hosts.site}


def step(fn: Function) -> None:
    """The next statement: a site, something around sites, or plain code."""
    draws = fn.draws
    room = len(fn.inside) < 2
    kind = draws.weighted(
        ((5, "site"), (3, "plain"), (2 if room else 0, "block"), (2 if fn.deep < 1 else 0, "function"))
    )
    if kind == "site":
        site(fn)
    elif kind == "block":
        draws.weighted(_BLOCKS)(fn)
    elif kind == "function":
        draws.weighted(_FUNCTIONS)(fn)
    else:
        draws.weighted(_PLAIN)(fn)


def site(fn: Function) -> None:
    if fn.budget > 0:
        fn.budget -= 1
        _SITES[fn.draws.pick(fn.program.wanted)](fn)
        if fn.inside:
            fn.tag(*(f"in-{around}" for around in fn.inside))
    else:
        draws_plain(fn)


def draws_plain(fn: Function) -> None:
    fn.draws.weighted(_PLAIN)(fn)


# -- plain code --------------------------------------------------------------------------------------------


def _compute(fn: Function) -> None:
    draws = fn.draws
    if draws.chance(20):
        value = Value(fn.name("s"), "")
        fn.line(f"{value.name} = {ex.choose(fn, ex.TOTAL).format(v=fn.any().name)}")
    elif draws.chance(20):
        value = Value(fn.name("row"), "n")
        fn.line(f"{value.name} = {fn.any().name}.{ex.choose(fn, ('sum(dim=0)', 'mean(0)', 'amax(0)'))}")
    else:
        value = Value(fn.name("h"))
        fn.line(f"{value.name} = {ex.pure(fn)}")
    fn.bind(value)


def _layer(fn: Function) -> None:
    """A layer of the module, or a matrix product."""
    value = Value(fn.name("h"))
    if fn.method:
        layer = "act" if fn.program.integers else fn.draws.pick(("fc", "norm", "drop", "act"))
        fn.tag("child-module")
        fn.line(f"{value.name} = {fn.attribute(layer)}({fn.any().name})")
    else:
        fn.line(f"{value.name} = {fn.any().name} @ {fn.any().name}.t() @ {fn.any().name}")
    fn.bind(value)


def _alias(fn: Function) -> None:
    fn.tag("alias")
    old = fn.any()
    fn.held(old.name)
    value = Value(fn.name("alias"), fresh=False)
    fn.line(f"{value.name} = {old.name}")
    fn.bind(value)


def _view(fn: Function) -> None:
    draws = fn.draws
    fn.tag("view")
    old = fn.any()
    fn.held(old.name)
    form, shape = draws.pick((("{v}[0]", "n"), ("{v}.view(-1, 4)", "bn"), ("{v}[:, :]", "bn"), ("{v}[:, 0]", "b")))
    value = Value(fn.name("view"), shape, fresh=False)
    fn.line(f"{value.name} = {form.format(v=old.name)}")
    fn.bind(value)


def _write(fn: Function) -> None:
    """An in-place write into a tensor, of others perhaps."""
    draws = fn.draws
    fn.tag("in-place-write")
    fresh = fn.of(fresh=True)
    value = draws.pick(fresh) if fresh and draws.chance(80) else fn.any()
    form = draws.pick(
        ("{v}.add_(1)", "{v} *= 0.5", "{v}[0] = 1.0", "{v}.clamp_(-2, 2)", "{v}[:, 1:].mul_(2)", "{v}.copy_({w} + 0)")
    )
    fn.line(ex.fill(fn, form, value))


def _mixed_dtypes(fn: Function) -> None:
    draws = fn.draws
    fn.tag("dtype-mix")
    value = Value(fn.name("d"), dtype="other")
    fn.line(f"{value.name} = {ex.fill(fn, draws.pick(ex.CASTS))}")
    back = Value(fn.name("h"))
    name = fn.any().name
    fn.line(f"{back.name} = {name} + {value.name}.to({name}.dtype)")
    fn.bind(back)
    if draws.chance(40):
        fn.give(value.name)


def _container(fn: Function) -> None:
    draws = fn.draws
    fn.tag("container")
    first = fn.any()
    fn.held(first.name)
    kind = draws.pick(("list", "dict", "tuple", "append"))
    name = fn.name("parts")
    if kind == "dict":
        fn.line(f"{name} = {{'a': {first.name}, 'b': {ex.pure(fn)}}}")
        fn.bind(Value(f"{name}['b']"))
        fn.bind(Value(f"{name}['a']", fresh=False))
    elif kind == "tuple":
        new = fn.name("q")
        fn.line(f"{name} = ({first.name}, {ex.pure(fn)})")
        fn.line(f"_, {new} = {name}")
        fn.bind(Value(new, fresh=False))
    elif kind == "append":
        fn.line(f"{name} = []")
        with fn.block(f"for i in range({draws.pick(('2', '3'))}):", "loop"):
            fn.line(f"{name}.append({ex.pure(fn)} * i)")
        fn.lists.append(name)
    else:
        fn.line(f"{name} = [{first.name}, {ex.pure(fn)}]")
        fn.lists.append(name)
        fn.bind(Value(f"{name}[1]"))
    if draws.chance(30):
        fn.give(name)


def _state(fn: Function) -> None:
    if not fn.method:
        _write(fn)
        return
    fn.tag("state-write")
    kind = fn.draws.pick(("count", "last", "running", "kept", "history"))
    path = fn.attribute(kind)
    value = fn.any().name
    forms = {
        "count": "{p} += 1",
        "last": "{p} = {v}.detach()",
        "running": "{p}.mul_(0.9).add_({v}.detach().sum(0))",
        "kept": "{p} = {v}.detach().sum()",
        "history": "{p}.append(1)",
    }
    fn.line(forms[kind].format(p=path, v=value))


def _shared_attribute(fn: Function) -> None:
    """A name that is an attribute's tensor."""
    if not fn.method:
        _alias(fn)
        return
    fn.tag("alias")
    value = Value(fn.name("p"), "n", fresh=False)
    fn.line(f"{value.name} = {fn.attribute(fn.draws.pick(('weight', 'running', 'shared')))}")
    fn.bind(value)


def _optional(fn: Function) -> None:
    """What a parameter that may be None adds."""
    if not fn.optionals:
        _compute(fn)
        return
    fn.tag("none-able")
    name = fn.draws.pick(fn.optionals)
    value = fn.any()
    new = Value(fn.name("h"))
    fn.line(f"{new.name} = {value.name} if {name} is None else {value.name} + {name}")
    fn.bind(Value(new.name, fresh=False))


# -- blocks ------------------------------------------------------------------------------------------------


def _steps(fn: Function) -> None:
    site(fn)
    if fn.draws.chance(40):
        draws_plain(fn)


def _loop(fn: Function) -> None:
    draws = fn.draws
    fn.tag("loop")
    value = branches.target(fn)
    kind = draws.pick(("range", "layers", "list", "zip"))
    if kind == "layers" and fn.method and not fn.program.integers:
        fn.tag("child-module")
        name = fn.name("layer")
        with fn.block(f"for {name} in {fn.attribute('layers')}:", "loop"):
            fn.line(f"{value.name} = {name}({value.name})")
            _steps(fn)
        return
    index = fn.name("i")
    if kind == "list" and fn.lists:
        with fn.block(f"for {index} in {draws.pick(fn.lists)}:", "loop"):
            fn.bind(Value(index, fresh=False))
            _steps(fn)
        return
    header = f"for {index} in range(2):"
    if kind == "zip":
        fn.held(value.name)
        header = f"for {index}, part in enumerate(({value.name}, {ex.pure(fn)})):"
    with fn.block(header, "loop"):
        if kind == "zip":
            fn.bind(Value("part", fresh=False))
        fn.numbers.append(index)
        _steps(fn)


def _no_grad(fn: Function) -> None:
    fn.tag("no-grad")
    with fn.block(f"with {fn.draws.pick(('torch.no_grad()', 'torch.no_grad()', 'torch.enable_grad()'))}:", "no-grad"):
        _steps(fn)


def _static_if(fn: Function) -> None:
    with fn.block(f"if {ex.static(fn)}:"):
        _steps(fn)
    if fn.draws.chance(30):
        with fn.block("else:"):
            _steps(fn)


def _none_test(fn: Function) -> None:
    if not fn.optionals:
        _static_if(fn)
        return
    fn.tag("none-able")
    name = fn.draws.pick(fn.optionals)
    with fn.block(f"if {name} is not None:"):
        fn.optionals = [o for o in fn.optionals if o != name]
        fn.bind(Value(name, "n", fresh=False))
        _steps(fn)


def _try(fn: Function) -> None:
    value = branches.target(fn)
    with fn.block("try:", "try"):
        _steps(fn)
    if fn.draws.chance(60):
        with fn.block(fn.draws.pick(("except ValueError:", "except Exception:", "except (ValueError, RuntimeError):"))):
            fn.line(f"{value.name} = {ex.pure(fn)}")
    else:
        with fn.block("finally:"):
            fn.line(f"{value.name} = {value.name} + 1")


# -- functions ---------------------------------------------------------------------------------------------


def pure_helper(fn: Function) -> str:
    """A function that is safe to call on both paths."""
    fn.tag("helper")
    name = fn.name("_pure")
    inner = Function(fn.program, [Value("v", fresh=False)], deep=9)
    inner.line(f"return {ex.pure(inner)}")
    fn.program.top.append([f"def {name}(v):", *inner.lines])
    return name


def _helper(fn: Function) -> None:
    """A function, method or child module with sites, called once or twice."""
    draws = fn.draws
    kind = draws.pick(("function", "method", "child", "closure", "child", "function"))
    if kind == "method" and fn.method:
        fn.tag("helper")
        name = fn.name("_step")
        lines = body(Function(fn.program, [Value("v", fresh=False)], method=True, depth=2), fn)
        fn.program.methods.append([f"    def {name}(self, v):", *lines])
        call = f"self.{name}"
    elif kind == "child" and fn.method:
        fn.tag("child-module")
        name = fn.name("Child")
        inner = Function(fn.program, [Value("v", fresh=False)], method=False, depth=2)
        lines = ["    def forward(self, v):", *body(inner, fn)]
        fn.program.top.append([f"class {name}(nn.Module):", *lines])
        fn.program.attributes[name.lower()] = f"{name}()"
        call = f"self.{name.lower()}"
    elif kind == "closure":
        fn.tag("closure")
        name = fn.name("inner")
        outer = fn.any()
        inner = Function(fn.program, [outer, Value("v", fresh=False)], method=fn.method, depth=fn.depth + 1)
        inner.values[0] = Value(outer.name, fresh=False)
        inner.inside = ("closure",)
        text = inner_body(inner, fn, keep=outer.name)
        fn.line(f"def {name}(v):")
        fn.lines.extend(text)
        call = name
    else:
        fn.tag("helper")
        name = fn.name("_apply")
        lines = body(Function(fn.program, [Value("v", fresh=False)]), fn)
        fn.program.top.append([f"def {name}(v):", *lines])
        call = name
    value = Value(fn.name("h"), fresh=False)
    argument = fn.any()
    fn.held(argument.name)
    fn.line(f"{value.name} = {call}({argument.name})")
    fn.bind(value)
    if draws.chance(20):
        fn.line(f"{value.name} = {call}({value.name})")


def body(inner: Function, outer: Function) -> list[str]:
    """The lines of a function with one or two sites, which are the outer one's."""
    inner.deep = outer.deep + 1
    inner.budget = min(outer.budget, 2)
    taken = inner.budget
    if inner.draws.chance(70):
        inner.line(f"v = {ex.pure(inner)}")
        inner.values[-1] = Value("v")
    site(inner)
    if inner.draws.chance(50):
        step(inner)
    outer.budget -= taken - inner.budget
    finish(inner, simple=True)
    return inner.lines


def inner_body(inner: Function, outer: Function, keep: str) -> list[str]:
    """The same for a closure, which must not bind the name that it takes from around it."""
    inner.line(f"w = v + {keep}")
    inner.values = [Value("w")]
    return body(inner, outer)


def _checked_call(fn: Function) -> None:
    """A helper whose guard the caller catches."""
    fn.tag("guard-in-try")
    if "trap" not in fn.program.wanted or fn.budget < 1:
        _helper(fn)
        return
    fn.budget -= 1
    name = fn.name("_check")
    inner = Function(fn.program, [Value("v", fresh=False)], deep=9)
    guards.site(inner)
    inner.line("return v * 2")
    fn.program.top.append([f"def {name}(v):", *inner.lines])
    value = branches.target(fn)
    with fn.block("try:", "try"):
        fn.line(f"{value.name} = {name}({value.name})")
    with fn.block(fn.draws.pick(("except ValueError:", "except Exception as e:", "except AssertionError:"))):
        fn.line(f"{value.name} = {value.name} - 1")


def finish(fn: Function, *, simple: bool = False) -> None:
    """The function's last statements."""
    draws = fn.draws
    made = [v.name for v in fn.values if v.name not in fn.program.kinds] or [fn.any().name]
    results = [draws.pick((fn.of(fresh=True) or fn.of())[::-1]).name]
    if not simple and draws.chance(60):
        results = made[-4:]
        if draws.chance(15):
            results.append(fn.values[0].name)
        results += fn.returned
    if "where" in fn.program.wanted and fn.budget > 0 and len(results) == 1 and draws.chance(60):
        fn.budget -= 1
        branches.final_returns(fn, results[0])
        return
    if draws.chance(20) and len(results) == 1:
        results[0] = ex.pure(fn)
    if len(results) == 1:
        fn.line(f"return {results[0]}")
    elif draws.chance(25):
        fn.tag("container")
        fn.line("return {" + ", ".join(f'"{n}": {text}' for n, text in enumerate(results)) + "}")
    else:
        fn.line(f"return {', '.join(results)}")


@contextlib.contextmanager
def sites_of(fn: Function, transformation: str) -> Iterator[None]:
    """All sites are of one transformation for a while."""
    kept = fn.program.wanted
    fn.program.wanted = (transformation,)
    yield
    fn.program.wanted = kept


def entry(program: Program, parameters: list[str]) -> list[str]:
    """The lines of the entry, which has a site of every wanted transformation."""
    draws = program.draws
    fn = Function(program, method=program.is_class, depth=2 if program.is_class else 1)
    fn.budget = draws.pick((2, 3, 3, 4)) + len(program.wanted) - 1
    fn.values = [Value(name, fresh=False) for name in parameters if program.kinds[name] == "bn"]
    fn.optionals = [name for name in parameters if program.kinds[name] == "optional"]
    fn.flags = [name for name in parameters if program.kinds[name] == "flag"]
    fn.masks = [name for name in parameters if program.kinds[name] == "mask"]
    fn.numbers = [name for name in parameters if program.kinds[name] == "number"]
    fn.lists = [name for name in parameters if program.kinds[name] == "list"]
    if draws.chance(88):
        fn.line(f"h = {ex.pure(fn)}")
        fn.bind(Value("h"))
    for _ in range(draws.integer(1, 4)):
        step(fn)
    for transformation in program.wanted:
        if transformation not in program.placed:
            with sites_of(fn, transformation):
                fn.budget = max(fn.budget, 1)
                site(fn)
    finish(fn)
    return fn.lines


_PLAIN: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (6, _compute),
    (3, _layer),
    (2, _alias),
    (2, _view),
    (3, _write),
    (2, _mixed_dtypes),
    (3, _container),
    (2, _state),
    (1, _shared_attribute),
    (2, _optional),
)
_BLOCKS: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (4, _loop),
    (3, _no_grad),
    (3, _static_if),
    (2, _none_test),
    (1, _try),
)
_FUNCTIONS: tuple[tuple[int, Callable[[Function], None]], ...] = ((7, _helper), (1, _checked_call))
