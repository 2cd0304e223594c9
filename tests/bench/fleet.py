"""Generated fleets for measurements: `python tests/bench/fleet.py DIR UNITS RESOURCES LAYERS`.

Units stand in layers of the same size; each reads the remote states of up to three units of the layer before. The
resources of a unit form chains of four, with a variable, locals and outputs as usual ones have.
"""

from __future__ import annotations

import sys
from pathlib import Path


def write_fleet(root: Path, units: int = 1000, resources: int = 20, layers: int = 5, file: bool = True) -> list[str]:
    """Write a fleet below `root`; the names of its units, layer by layer."""
    per_layer = -(-units // layers)
    names = [f"units/l{i // per_layer}-{i % per_layer:04}" for i in range(units)]
    for i, name in enumerate(names):
        layer, place = divmod(i, per_layer)
        upstream = []
        if layer:
            upstream = sorted({f"units/l{layer - 1}-{(place * k + k - 1) % per_layer:04}" for k in (1, 2, 3)})
        folder = root / name
        folder.mkdir(parents=True)
        (folder / "main.tf").write_text(_unit(name, upstream, resources), encoding="utf-8")
    if file:
        (root / "planner.batch.hcl").write_text('units "units/*" {\n}\n', encoding="utf-8")
    return names


def _unit(name: str, upstream: list[str], resources: int) -> str:
    parts = [
        'terraform {\n  backend "local" {\n    path = "terraform.tfstate"\n  }\n}\n',
        'variable "size" {\n  type    = number\n  default = 3\n}\n',
        f'locals {{\n  prefix = "{name}-${{var.size}}"\n}}\n',
    ]
    for k, other in enumerate(upstream):
        parts.append(
            f'data "terraform_remote_state" "up{k}" {{\n  backend = "local"\n  config = {{\n'
            f'    path = "../../{other}/terraform.tfstate"\n  }}\n}}\n'
        )
    reads = [f"data.terraform_remote_state.up{k}.outputs.id" for k in range(len(upstream))]
    for i in range(resources):
        value = f"terraform_data.r{i - 1}.id" if i % 4 else f'"${{local.prefix}}-{i}"'
        if i < len(reads):
            value = reads[i]
        parts.append(
            f'resource "terraform_data" "r{i}" {{\n  input = {{\n    name = {value}\n    tier = "t{i}"\n  }}\n}}\n'
        )
    parts.append(f'output "id" {{\n  value = terraform_data.r{resources - 1}.id\n}}\n')
    parts.append('output "name" {\n  value = local.prefix\n}\n')
    return "\n".join(parts)


if __name__ == "__main__":
    write_fleet(Path(sys.argv[1]), *map(int, sys.argv[2:5]))
