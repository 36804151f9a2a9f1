"""Makes the processes that tests of the lane start open memories as these do (tests/lane.py).
Nothing is imported before the process imports what opens memories."""

import os
import sys
from importlib.machinery import PathFinder

_MODULE = "doxa.app.file"


class _Sharing:
    """Finds the module that opens memories, and changes it once it is there."""

    def find_spec(self, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name == _MODULE else None
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def shared(module):
            execute(module)
            from tests.lane import share

            share(os.environ["DOXA_LANE_URL"])

        spec.loader.exec_module = shared
        return spec


if os.environ.get("DOXA_LANE_URL"):
    sys.meta_path.insert(0, _Sharing())
