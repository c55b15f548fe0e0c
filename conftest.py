"""Where the tests, and the processes they start, find modules: what is installed comes before what lies here.

So `make test` tests the wheel; with an editable installation, what lies here is what is installed.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
os.environ["PYTHONSAFEPATH"] = "1"
