"""Installs graphmend's hook in a process whose parent mends; then gives way to the sitecustomize that this one hides.

Any Python that is started below `graphmend run` may come here, so what fails is left: the process runs unmended.
"""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if not p or os.path.normcase(os.path.abspath(p)) != os.path.normcase(_here)]


def _install():
    try:
        from graphmend_lsp.hook import install_from_environment

        install_from_environment()
    except ImportError:
        pass  # another interpreter, without graphmend-lsp
    except Exception as error:
        print(f"graphmend: nothing is mended in process {os.getpid()}: {error}", file=sys.stderr)


def _give_way():
    spec = importlib.machinery.PathFinder.find_spec(__name__)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[__name__] = module
        spec.loader.exec_module(module)


_install()
_give_way()
