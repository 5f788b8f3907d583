"""What `import eigenlens` brings in: nothing optional beyond what scikit-learn itself does."""

import json
import subprocess
import sys

OPTIONAL = {"polars", "matplotlib", "dask", "distributed", "torch", "rich", "typer", "jinja2", "pyarrow", "pandas"}


def loaded_by(module):
    code = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout)) & OPTIONAL


def test_importing_the_package_imports_no_extra():
    assert loaded_by("eigenlens") <= loaded_by("sklearn.decomposition")
