"""Makes the processes that tests of the lane start open memories as these do (tests/lane.py)."""

import os

if os.environ.get("DOXA_LANE_URL"):
    from tests.lane import share

    share(os.environ["DOXA_LANE_URL"])
