"""Measure `policy check` on what `show -json` prints of a large plan, with Conftest beside it, in turn.

    python tests/bench/judged_plans.py -write DIR -megabytes 50     only write plan.json
    python tests/bench/judged_plans.py -conftest PATH               both, with the same five policies

The policies are in tests/bench/judging.

Both are run as whole processes that print JSON; the figures are the medians of wall clock time and of peak memory, and
of the ratio of each pair. What the two find has to be the same.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Cost, run

POLICIES = Path(__file__).parent / "judging"
PROVIDER = "registry.opentofu.org/hashicorp/aws"
Attributes = dict[str, Any]


def tags(r: random.Random, i: int) -> Attributes:
    """Tags of which about one object in fifty has none."""
    names = {
        "Owner": f"team-{i % 40}",
        "CostCenter": str(1000 + i % 90),
        "Environment": "prod",
        "ManagedBy": "opentofu",
    }
    if r.random() < 0.02:
        del names["Owner"]
    return names


def instance(r: random.Random, i: int) -> Attributes:
    kind = r.choice(("t3.micro", "t3.small", "m5.large")) if r.random() < 0.98 else "p4d.24xlarge"
    tagged = tags(r, i)
    return {
        "ami": f"ami-{i:017x}",
        "availability_zone": "eu-west-1a",
        "ebs_optimized": True,
        "instance_type": kind,
        "key_name": "operations",
        "monitoring": True,
        "source_dest_check": True,
        "tenancy": "default",
        "user_data": None,
        "user_data_replace_on_change": False,
        "subnet_id": f"subnet-{i % 60:017x}",
        "credit_specification": [],
        "get_password_data": False,
        "hibernation": None,
        "launch_template": [],
        "vpc_security_group_ids": [f"sg-{(i + k) % 900:017x}" for k in range(3)],
        "timeouts": None,
        "volume_tags": None,
        "metadata_options": [{"http_endpoint": "enabled", "http_tokens": "required", "http_put_response_hop_limit": 1}],
        "root_block_device": [
            {
                "delete_on_termination": True,
                "encrypted": True,
                "volume_size": 20 + i % 80,
                "volume_type": "gp3",
                "iops": 3000,
            }
        ],
        "tags": tagged,
        "tags_all": {**tagged, "Repository": "infrastructure"},
    }


def bucket(r: random.Random, i: int) -> Attributes:
    tagged = tags(r, i)
    return {
        "bucket": f"acme-data-{i}",
        "force_destroy": False,
        "object_lock_enabled": False,
        "bucket_prefix": None,
        "tags": tagged,
        "tags_all": {**tagged, "Repository": "infrastructure"},
        "timeouts": None,
        "lifecycle_rule": [
            {"enabled": True, "prefix": f"logs/{k}/", "expiration": [{"days": 30 * k}]} for k in range(4)
        ],
        "cors_rule": [
            {"allowed_headers": ["*"], "allowed_methods": ["GET"], "allowed_origins": ["https://acme.example"]}
        ],
        "policy": json.dumps(
            {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*"}]}
        ),
    }


def group(r: random.Random, i: int) -> Attributes:
    everybody = r.random() < 0.03
    rules = [
        {
            "cidr_blocks": ["0.0.0.0/0" if everybody and k == 1 else f"10.{i % 250}.{k}.0/24"],
            "description": f"rule {k}",
            "from_port": 8000 + k,
            "to_port": 8000 + k,
            "protocol": "tcp",
            "self": False,
            "ipv6_cidr_blocks": [],
            "prefix_list_ids": [],
            "security_groups": [],
        }
        for k in range(5)
    ]
    return {
        "name": f"web-{i}",
        "description": "Managed",
        "vpc_id": f"vpc-{i % 9:017x}",
        "revoke_rules_on_delete": False,
        "ingress": rules,
        "egress": rules[:1],
        "tags": tags(r, i),
        "timeouts": None,
    }


def database(r: random.Random, i: int) -> Attributes:
    return {
        "allocated_storage": 100,
        "engine": "postgres",
        "engine_version": "16.3",
        "identifier": f"main-{i}",
        "instance_class": "db.r6g.large",
        "multi_az": True,
        "storage_encrypted": r.random() > 0.03,
        "username": "root",
        "backup_retention_period": 14,
        "deletion_protection": True,
        "publicly_accessible": False,
        "port": 5432,
        "enabled_cloudwatch_logs_exports": ["postgresql", "upgrade"],
        "max_allocated_storage": 500,
        "tags": tags(r, i),
    }


def volume(r: random.Random, i: int) -> Attributes:
    encrypted = r.random() > 0.03
    return {"availability_zone": "eu-west-1b", "encrypted": encrypted, "size": 50, "type": "gp3", "tags": tags(r, i)}


def policy(r: random.Random, i: int) -> Attributes:
    statements: list[Attributes] = [
        {
            "Sid": f"S{k}",
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject", "s3:ListBucket"],
            "Resource": [f"arn:aws:s3:::acme-data-{i}/{k}/*", f"arn:aws:s3:::acme-data-{i}"],
        }
        for k in range(4)
    ]
    if r.random() < 0.03:
        statements.append({"Effect": "Allow", "Action": "*", "Resource": "*"})
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    return {"name": f"access-{i}", "path": "/", "description": "Access to data", "policy": document, "tags": tags(r, i)}


TYPES: dict[str, Callable[[random.Random, int], Attributes]] = {
    "aws_instance": instance,
    "aws_s3_bucket": bucket,
    "aws_security_group": group,
    "aws_db_instance": database,
    "aws_ebs_volume": volume,
    "aws_iam_policy": policy,
}
UNKNOWN = {"id": True, "arn": True}


def resources(count: int) -> Iterator[tuple[str, str, str, Attributes, bool]]:
    """Address, type, name, attributes, and whether it is made (else nothing happens to it)."""
    r = random.Random(1)
    for i in range(count):
        kind = list(TYPES)[i % len(TYPES)]
        name = f"r{i}"
        yield f"{kind}.{name}", kind, name, TYPES[kind](r, i), r.random() < 0.7


def plan(count: int) -> bytes:
    """What `show -json` prints of a plan with so many resources."""
    changes, planned, prior, declared = [], [], [], []
    for address, kind, name, values, is_made in resources(count):
        head = {"address": address, "mode": "managed", "type": kind, "name": name, "provider_name": PROVIDER}
        known = {**values, "id": name, "arn": f"arn:aws:x:eu-west-1:123456789012:{name}"}
        after = values if is_made else known
        changes.append(
            {
                **head,
                "change": {
                    "actions": ["create"] if is_made else ["no-op"],
                    "before": None if is_made else known,
                    "after": after,
                    "after_unknown": UNKNOWN if is_made else {},
                    "before_sensitive": False if is_made else {},
                    "after_sensitive": {},
                },
            }
        )
        planned.append({**head, "schema_version": 1, "values": after, "sensitive_values": {}})
        if not is_made:
            prior.append({**head, "schema_version": 1, "values": known, "sensitive_values": {}})
        expressions = {key: {"constant_value": value} for key, value in values.items() if isinstance(value, str | bool)}
        declared.append(
            {
                "address": address,
                "mode": "managed",
                "type": kind,
                "name": name,
                "provider_config_key": "aws",
                "expressions": expressions,
                "schema_version": 1,
            }
        )
    document = {
        "format_version": "1.2",
        "terraform_version": "1.12.6",
        "planned_values": {"root_module": {"resources": planned}},
        "resource_changes": changes,
        "prior_state": {
            "format_version": "1.0",
            "terraform_version": "1.12.6",
            "values": {"root_module": {"resources": prior}},
        },
        "configuration": {
            "provider_config": {"aws": {"name": "aws", "full_name": PROVIDER}},
            "root_module": {"resources": declared},
        },
        "timestamp": "2026-03-02T09:30:00Z",
        "errored": False,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def write(folder: Path, megabytes: float) -> int:
    """Write plan.json of about this size; how many resources it has."""
    each = len(plan(600)) / 600
    count = int(megabytes * 1_000_000 / each)
    (folder / "plan.json").write_bytes(plan(count))
    return count


def findings_of_planner(text: str) -> set[str]:
    return {f"{f['code']} {f['address']} {f['message']}" for f in json.loads(text)["findings"]}


def findings_of_conftest(text: str) -> set[str]:
    return {f["msg"] for result in json.loads(text) for f in result.get("failures") or ()}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-write", help="only write plan.json into this folder")
    parser.add_argument("-megabytes", type=float, default=50.0)
    parser.add_argument("-runs", type=int, default=5)
    parser.add_argument("-conftest", help="the peer's binary")
    given = parser.parse_args(arguments)
    if given.write:
        Path(given.write).mkdir(parents=True, exist_ok=True)
        print(write(Path(given.write), given.megabytes), "resources")
        return 0
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as name:
        folder = Path(name)
        # In a process of its own: what a process needs at most counts from what its parent has when it starts.
        writing = [sys.executable, __file__, "-write", name, "-megabytes", str(given.megabytes)]
        wrote = subprocess.run(writing, check=True, capture_output=True, text=True)
        ours = [
            sys.executable,
            "-m",
            "planner",
            "policy",
            "check",
            f"-policy={POLICIES / 'five.dl'}",
            "-plan=plan.json",
        ]
        commands = {"planner": [*ours, "-json"]}
        if given.conftest:
            peer = [given.conftest, "test", "-p", str(POLICIES / "five.rego"), "-o", "json", "--no-color", "plan.json"]
            commands["conftest"] = peer
        costs: dict[str, list[Cost]] = {tool: [] for tool in commands}
        found: dict[str, set[str]] = {}
        for _ in range(given.runs + 1):
            for tool, command in commands.items():
                cost, said = run(command, folder, 900.0, most=1 << 30)
                costs[tool].append(cost)
                found[tool] = (findings_of_planner if tool == "planner" else findings_of_conftest)(said)
        print(f"{(folder / 'plan.json').stat().st_size / 1e6:.1f} MB, {wrote.stdout.strip()}")
        for tool, all_costs in costs.items():
            counted = all_costs[1:]
            wall, memory = (statistics.median(getattr(c, what) for c in counted) for what in ("wall", "memory"))
            print(f"{tool:9} {wall:6.2f} s  {memory / 2**20:6.0f} MB  {len(found[tool])} findings")
        if "conftest" in costs:
            pairs = zip(costs["conftest"][1:], costs["planner"][1:], strict=True)
            print(f"planner is {statistics.median(b.wall / a.wall for b, a in pairs):.1f} times as fast")
            if found["planner"] != found["conftest"]:
                print("but they do not find the same:", sorted(found["planner"] ^ found["conftest"])[:5])
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
