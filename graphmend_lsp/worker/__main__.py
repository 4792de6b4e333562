"""Start: ``python PATH/worker JOB`` in the user's interpreter.

Standard input brings lines of JSON, standard output takes them (see ``channel``).
"""

import importlib
import importlib.util
import os
import sys


def main() -> int:
    """Load this folder as a package under a private name, and leave ``sys.path`` to the user's code."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != folder]
    name = "_graphmend_worker"
    place = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(name, place, submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    code: int = importlib.import_module(f"{name}.serve").main()
    return code


if __name__ == "__main__":
    sys.exit(main())
