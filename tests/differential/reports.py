"""[Defer] sites: prints, log records and warnings, in their many spellings and places."""

from __future__ import annotations

from collections.abc import Callable

import expressions as ex
from program import Function


def site(fn: Function) -> None:
    """One report, under a test perhaps, of a value that may be written in place afterwards."""
    draws = fn.draws
    fn.program.placed.add("defer")
    form = draws.weighted(_FORMS)
    fn.tag(form.__name__.strip("_").replace("_", "-"))
    around = draws.weighted(((12, ""), (4, "data"), (2, "static"), (1, "two")))
    if around == "data":
        fn.tag("report-on-data")
        with fn.block(f"if {ex.test(fn)}:"):
            form(fn)
    elif around == "static":
        with fn.block(f"if {ex.static(fn)}:"):
            form(fn)
    elif around == "two":
        with fn.block(f"if {ex.test(fn)}:"):
            form(fn)
            _print(fn)
    else:
        form(fn)
    fresh = fn.of(fresh=True)
    if fresh and draws.chance(25):
        fn.tag("printed-then-written", "in-place-write")
        fn.line(f"{draws.pick(fresh).name}.{draws.pick(('add_(1)', 'mul_(2)', 'neg_()', 'clamp_(max=0.5)'))}")


def words(fn: Function) -> str:
    return fn.draws.pick(("norm", "large value", "step", "mean of h", "got", "x is"))


def _print(fn: Function) -> None:
    draws = fn.draws
    text = ex.message(fn, words(fn))
    kind = draws.weighted(((6, "one"), (3, "values"), (1, "sep"), (1, "empty")))
    if kind == "values":
        text = f'"{words(fn)}", {ex.shown(fn)}' + (f", {ex.shown(fn)}" if draws.chance(40) else "")
    elif kind == "sep":
        text = f'{text}, {ex.shown(fn)}, sep=": ", end="!\\n"'
    elif kind == "empty":
        text = draws.pick(("", f"{ex.shown(fn)}", f"{text}, flush=True", f"{text}, file=sys.stderr"))
    if "sys." in text:
        fn.program.use_import("import sys")
    fn.line(f"print({text})")


def _other_prints(fn: Function) -> None:
    draws = fn.draws
    kind = draws.pick(("pprint", "write", "value"))
    if kind == "pprint":
        fn.program.use_import("from pprint import pprint")
        fn.line(f"pprint({ex.shown(fn)})")
    elif kind == "write":
        fn.program.use_import("import sys")
        fn.line(f'sys.stdout.write(f"{words(fn)} {{{ex.quoted(fn)}}}\\n")')
    else:
        fn.line(f"_ = print({ex.shown(fn)})")


def _logger(fn: Function) -> str:
    draws = fn.draws
    kind = draws.pick(("logger", "logger", "logging", "self", "local"))
    if kind == "self" and fn.method:
        return fn.attribute("log") or ""
    if kind == "logging":
        return "logging"
    if kind == "local":
        name = fn.name("log")
        fn.line(f'{name} = logging.getLogger("net.local")')
        return name
    return fn.program.use_global("logger", 'logging.getLogger("net")')


def _log(fn: Function) -> None:
    draws = fn.draws
    fn.program.use_import("import logging")
    level = draws.pick(("info", "warning", "debug", "error"))
    logger = _logger(fn)
    kind = draws.weighted(((4, "message"), (4, "lazy"), (1, "level"), (1, "enabled"), (1, "stack")))
    if kind == "lazy":
        fn.line(f'{logger}.{level}("{words(fn)} %s", {ex.shown(fn)})')
    elif kind == "level":
        fn.line(f"{logger}.log(logging.WARNING, {ex.message(fn, words(fn))})")
    elif kind == "enabled" and logger != "logging":
        with fn.block(f"if {logger}.isEnabledFor(logging.DEBUG):"):
            fn.line(f"{logger}.debug({ex.message(fn, words(fn))})")
    elif kind == "stack":
        fn.line(f"{logger}.{level}({ex.message(fn, words(fn))}, stacklevel={draws.pick(('1', '2'))})")
    else:
        fn.line(f"{logger}.{level}({ex.message(fn, words(fn))})")


def _warning(fn: Function) -> None:
    draws = fn.draws
    fn.program.use_import("import warnings")
    more = draws.pick(("", "", ", UserWarning", ", DeprecationWarning", ", stacklevel=2", ", category=RuntimeWarning"))
    fn.line(f"warnings.warn({ex.message(fn, words(fn))}{more})")


def _once(fn: Function) -> None:
    """Told once: the flag is Python state."""
    if fn.method:
        flag = fn.attribute("quiet") or ""
        with fn.block(f"if not {flag}:"):
            fn.line(f"print({ex.message(fn, words(fn))})")
            fn.line(f"{flag} = True")
        fn.tag("state-write")
        return
    _print(fn)


def _with_assignment(fn: Function) -> None:
    """A branch that prints and computes."""
    from branches import side, target

    value = target(fn)
    fn.program.placed.add("where")
    with fn.block(f"if {ex.test(fn)}:"):
        fn.line(f"print({ex.message(fn, words(fn))})")
        fn.line(f"{value.name} = {side(fn, value)}")


def _in_loop(fn: Function) -> None:
    draws = fn.draws
    fn.tag("loop")
    index = fn.name("i")
    value = fn.any().name
    form = draws.pick((f"for {index} in range(2):", f"for {index}, row in enumerate({value}):"))
    with fn.block(form, "loop"):
        shown = "row.sum()" if "row" in form else ex.quoted(fn)
        fn.line(f'print(f"step {{{index}}}: {{{shown}}}")')


def _conditional_words(fn: Function) -> None:
    """A test on data inside the call that reports."""
    fn.program.placed.add("where")
    fn.line(f'print("up" if {ex.comparison(fn)} else "down")')


_FORMS: tuple[tuple[int, Callable[[Function], None]], ...] = (
    (10, _print),
    (2, _other_prints),
    (8, _log),
    (4, _warning),
    (1, _once),
    (1, _with_assignment),
    (2, _in_loop),
    (1, _conditional_words),
)
