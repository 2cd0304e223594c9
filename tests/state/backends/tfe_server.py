"""What states need of Terraform Enterprise: an organization `org` with workspaces, projects, versions of states.

    python tfe_server.py PORT

The token is `secret`. Workspaces whose names end in `-there` run their plans on the server. Those that end in `-old`
want states at once. `login` finds an OAuth server at /oauth, which gives the token for the code `code`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PORT = int(sys.argv[1])
LOCK = threading.RLock()
WORKSPACES: dict[str, dict[str, Any]] = {}
PROJECTS: dict[str, str] = {}
VERSIONS: dict[str, dict[str, Any]] = {}
CONFIGURATIONS: dict[str, dict[str, bytes] | None] = {}
RUNS: dict[str, dict[str, Any]] = {}
CHALLENGES: list[str] = []
VARIABLE = ("key", "value", "category", "hcl", "sensitive")
VARIABLES = (
    ("a", "2", "terraform", True, False),
    ("text", "2", "terraform", False, False),
    ("secret", "", "terraform", False, True),
    ("HOME", "x", "env", False, False),
)
CONFIGURED: dict[str, dict[str, Any]] = {}
PAGE = 2
"""workspaces on a page"""

STRUCTURED_LOG = "".join(
    json.dumps({"@level": "info", "@message": message, "type": kind, **more}) + "\n"
    for kind, message, more in (
        ("version", "OpenTofu 1.12.6", {}),
        ("refresh_start", "terraform_data.a: Refreshing state...", {}),
        ("planned_change", "terraform_data.a: Plan to create", {}),
        ("diagnostic", "Warning: old", {"diagnostic": {"severity": "warning", "summary": "old", "detail": "It is."}}),
    )
)


def confirmable(run: dict[str, Any]) -> bool:
    return run["status"] in ("planned", "planned_and_saved")


def changes(run: dict[str, Any]) -> bool:
    return run["outcome"] not in ("nothing", "plan fails")


def shown(workspace: dict[str, Any]) -> dict[str, Any]:
    workspace["structured-run-output-enabled"] = workspace["name"].startswith("structured-")
    names = (
        "name",
        "structured-run-output-enabled",
        "locked",
        "locked-reason",
        "execution-mode",
        "terraform-version",
        "tag-names",
    )
    attributes: dict[str, Any] = {name: workspace[name] for name in names}
    attributes["permissions"] = dict.fromkeys(("can-queue-run", "can-queue-apply", "can-update"), True)
    return {"data": {"id": workspace["id"], "type": "workspaces", "attributes": attributes}}


def version(name: str) -> dict[str, Any]:
    kept = VERSIONS[name]
    url = f"http://127.0.0.1:{PORT}/objects/{name}"
    attributes = {"serial": kept["serial"], "status": "finalized", "hosted-state-download-url": url}
    if kept["data"] is None:
        attributes |= {"hosted-state-upload-url": url, "hosted-json-state-upload-url": f"{url}.json"}
    return {"data": {"id": name, "type": "state-versions", "attributes": attributes}}


def interval(workspace: dict[str, Any]) -> dict[str, str]:
    """What the server says of snapshots: workspaces are called NAME-every-SECONDS."""
    seconds = workspace["name"].partition("-every-")[2]
    return {"X-Terraform-Snapshot-Interval": seconds} if seconds else {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def reply(self, code: int, body: Any = None, raw: bytes | None = None, **headers: str) -> None:
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else b"")
        self.send_response(code)
        kind = "application/json" if raw is not None or "oauth" in self.path else "application/vnd.api+json"
        for name, value in {"Content-Type": kind, "TFP-API-Version": "2.6", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code: int, title: str, detail: str = "") -> None:
        self.reply(code, {"errors": [{"status": str(code), "title": title, **({"detail": detail} if detail else {})}]})

    def handle_all(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        with LOCK:
            if url.path.startswith("/objects/"):
                self.stored(url.path.removeprefix("/objects/"), data)
            elif url.path.startswith("/logs/"):
                self.log(url.path.removeprefix("/logs/"), {k: v[0] for k, v in parse_qs(url.query).items()})
            elif url.path.startswith("/oauth/"):
                self.oauth(url.path, data, {k: v[0] for k, v in parse_qs(url.query).items()})
            elif self.headers.get("Authorization") != "Bearer secret":
                self.refuse(401, "unauthorized")
            else:
                asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                self.answer(url.path.removeprefix("/api/v2/"), json.loads(data) if data else {}, asked)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_all  # noqa: N815

    def stored(self, name: str, data: bytes) -> None:
        if self.command == "PUT":
            if name in CONFIGURATIONS:
                with tarfile.open(fileobj=io.BytesIO(data)) as packed:
                    files = {one.name: packed.extractfile(one) for one in packed.getmembers() if one.isfile()}
                    CONFIGURATIONS[name] = {path: file.read() for path, file in files.items() if file is not None}
            if name in VERSIONS:
                assert hashlib.md5(data).hexdigest() == VERSIONS[name]["md5"]
                VERSIONS[name]["data"] = data
            self.reply(200)
        else:
            self.reply(200, raw=VERSIONS[name]["data"])

    def oauth(self, path: str, data: bytes, asked: dict[str, str]) -> None:
        if path.endswith("authorization"):
            CHALLENGES.append(asked["code_challenge"])
            location = f"{asked['redirect_uri']}?code=code&state={asked['state']}"
            self.reply(302, Location=location)
            return
        given = {name: values[0] for name, values in parse_qs(data.decode()).items()}
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if given["code"] == "code" and proof in CHALLENGES and given["client_id"] == "client":
            self.reply(200, {"access_token": "secret", "token_type": "bearer"})
        else:
            self.reply(400, {"error": "invalid_grant"})

    def answer(self, path: str, body: dict[str, Any], asked: dict[str, str]) -> None:
        data = body.get("data") or {}
        attributes = data.get("attributes") or {}
        if path == "ping":
            return self.reply(204)
        if path == "account/details":
            user = {"id": "user-1", "type": "users", "attributes": {"username": "somebody"}}
            return self.reply(200, {"data": user})
        if path == "organizations/org/entitlement-set":
            kept = {"operations": True, "state-storage": True}
            return self.reply(200, {"data": {"id": "org-1", "type": "entitlement-sets", "attributes": kept}})
        if path == "organizations/org/runs/queue":
            pages = {"current-page": 1, "total-pages": 1, "total-count": 0}
            return self.reply(200, {"data": [], "meta": {"pagination": pages}})
        if self.run(path, body, asked):
            return None
        if path == "organizations/org/projects":
            return self.projects(attributes, asked)
        if path == "organizations/org/workspaces":
            return self.made(data, attributes) if self.command == "POST" else self.listed(asked)
        if found := re.fullmatch(r"organizations/org/workspaces/([^/]+)", path):
            if found[1] in WORKSPACES and self.command == "DELETE":
                del WORKSPACES[found[1]]
                return self.reply(204)
            if found[1] in WORKSPACES:
                return self.reply(200, shown(WORKSPACES[found[1]]))
        if (found := re.fullmatch(r"state-versions/([^/]+)", path)) and found[1] in VERSIONS:
            return self.reply(200, version(found[1]))
        if found := re.fullmatch(r"workspaces/(ws-[^/]+)(?:/(.*))?", path):
            workspace = next((w for w in WORKSPACES.values() if w["id"] == found[1]), None)
            if workspace is not None:
                return self.workspace(workspace, found[2] or "", body, attributes)
        return self.refuse(404, "not found")

    def run(self, path: str, body: dict[str, Any], asked: dict[str, str]) -> bool:
        """Configurations and runs, whose outcome is in the file `outcome` of the configuration."""
        data = body.get("data") or {}
        parts = path.split("/")
        if parts[0] == "configuration-versions" and parts[1] in CONFIGURATIONS:
            uploaded = CONFIGURATIONS[parts[1]] is not None
            attributes = {"status": "uploaded" if uploaded else "pending"}
            self.reply(200, {"data": {"id": parts[1], "type": "configuration-versions", "attributes": attributes}})
        elif path == "runs":
            relations = {name: one["data"]["id"] for name, one in data["relationships"].items()}
            files = CONFIGURATIONS[relations["configuration-version"]] or {}
            name = f"run-{len(RUNS)}"
            outcome = files.get("outcome", b"changes").decode().strip()
            given = data["attributes"]
            RUNS[name] = {
                "status": "pending",
                "outcome": outcome,
                "files": sorted(files),
                "workspace": relations["workspace"],
                "plan-only": CONFIGURED[relations["configuration-version"]].get("speculative"),
                **given,
            }
            for part in ("plan.json", "task", "cost", "check", "events"):
                RUNS[name][part] = files.get(part, b"").decode().strip()
            self.reply(201, self.shown_run(name))
        elif parts[0] == "runs" and parts[1] in RUNS:
            if parts[2:3] == ["run-events"]:
                event = {"action": "changed_task_enforcements", "description": RUNS[parts[1]]["events"]}
                listed = [{"id": "re-1", "type": "run-events", "attributes": event}] if event["description"] else []
                self.reply(200, {"data": listed})
            elif parts[2:3] == ["actions"]:
                if parts[3] == "apply" and not confirmable(RUNS[parts[1]]):
                    return self.refuse(409, "transition not allowed") is None
                ends = {"apply": "applying", "discard": "discarded", "cancel": "canceled"}
                RUNS[parts[1]]["status"] = ends[parts[3]]
                self.reply(202)
            else:
                self.reply(200, self.shown_run(parts[1]))
                if RUNS[parts[1]]["status"] == "pending" and RUNS[parts[1]]["outcome"] != "waits":
                    RUNS[parts[1]]["status"] = "planning"
        elif parts[0] in ("plans", "applies") and parts[1] in RUNS:
            name = parts[1]
            status = "finished" if parts[0] in RUNS[name].get("ended", ()) else "running"
            if parts[2:3] in (["json-output"], ["json-output-redacted"]):
                self.reply(200, raw=RUNS[name]["plan.json"].encode())
                return True
            attributes = {"status": status, "log-read-url": f"http://127.0.0.1:{PORT}/logs/{parts[0]}/{name}"}
            attributes["generated-configuration"] = '"generated_config"' in RUNS[name]["plan.json"]
            attributes["has-changes"] = changes(RUNS[name])
            self.reply(200, {"data": {"id": name, "type": parts[0], "attributes": attributes}})
        elif len(parts) > 1 and parts[1] in RUNS:
            self.reported(parts, RUNS[parts[1]])
        else:
            return False
        return True

    def reported(self, parts: list[str], run: dict[str, Any]) -> None:
        """Costs, policy checks and tasks of a run: their status is the content of a file of the configuration."""
        kind, name = parts[:2]
        attributes: dict[str, Any] = {}
        included = []
        if parts[2:] == ["actions", "override"]:
            run["check" if kind == "policy-checks" else "task"] = "passed"
            run["status"] = "planned"
        elif parts[2:] == ["output"]:
            return self.reply(200, raw=b"\x02The policy looked at the run.\n\x03")
        elif parts[2:] == ["policy-set-outcomes"]:
            outcome = {"policy_name": "tags", "status": run["task"], "enforcement_level": "mandatory"}
            content = {"policy-set-name": "ours", "outcomes": [{**outcome, "description": "All have tags."}]}
            return self.reply(200, {"data": [{"id": name, "type": "policy-set-outcomes", "attributes": content}]})
        if kind == "cost-estimates":
            attributes = {"status": run["cost"], "resources-count": 3, "matched-resources-count": 2}
            attributes |= {"proposed-monthly-cost": "12.5", "delta-monthly-cost": "-2.5", "prior-monthly-cost": "15.0"}
        elif kind == "policy-checks":
            attributes = {"status": run["check"], "scope": "organization", "actions": {"is-overridable": True}}
            attributes["permissions"] = {"can-override": True}
        elif kind == "task-stages":
            task = {"task-name": "scan", "status": run["task"].replace("awaiting_override", "passed"), "message": "x"}
            task["workspace-task-enforcement-level"] = "mandatory"
            counts = {"passed": 1, "mandatory-failed": 0, "advisory-failed": 0, "errored": 0}
            judged = {"status": "passed", "policy-kind": "opa", "result-count": counts}
            attributes = {"status": run["task"], "stage": "post_plan"}
            included = [
                {"id": name, "type": "task-results", "attributes": task},
                {"id": name, "type": "policy-evaluations", "attributes": judged},
            ]
        related = {
            relation: {"data": [{"id": one["id"], "type": one["type"]} for one in included if one["type"] == relation]}
            for relation in ("task-results", "policy-evaluations")
        }
        data = {"id": name, "type": kind, "attributes": attributes, "relationships": related if included else {}}
        return self.reply(200, {"data": data, "included": included})

    def advance(self, run: dict[str, Any], part: str) -> None:
        run["ended"] = (*run.get("ended", ()), part)
        if part == "applies":
            run["status"] = "errored" if run["outcome"] == "apply fails" else "applied"
            return
        ends = {"nothing": "planned_and_finished", "plan fails": "errored", "policy": "policy_soft_failed"}
        ready = "planned_and_saved" if run.get("save-plan") else "planned"
        run["status"] = ends.get(run["outcome"], "planned_and_finished" if run["plan-only"] else ready)

    def shown_run(self, name: str) -> dict[str, Any]:
        run = RUNS[name]
        attributes = {
            "status": run["status"],
            "has-changes": changes(run),
            "actions": {"is-confirmable": confirmable(run), "is-discardable": confirmable(run), "is-cancelable": True},
            "is-destroy": bool(run.get("is-destroy")),
            "refresh-only": bool(run.get("refresh-only")),
        }
        relations = {
            part: {"data": {"id": name, "type": kind}} for part, kind in (("plan", "plans"), ("apply", "applies"))
        }
        relations["workspace"] = {"data": {"id": run["workspace"], "type": "workspaces"}}
        if run["cost"]:
            relations["cost-estimate"] = {"data": {"id": name, "type": "cost-estimates"}}
        for kind, part in (("policy-checks", "check"), ("task-stages", "task")):
            relations[kind] = {"data": [{"id": name, "type": kind}] if run[part] else []}
        stage = {"id": name, "type": "task-stages", "attributes": {"stage": "post_plan", "status": run["task"]}}
        data = {"id": name, "type": "runs", "attributes": attributes, "relationships": relations}
        return {"data": data, **({"included": [stage]} if run["task"] else {})}

    def log(self, path: str, asked: dict[str, str]) -> None:
        part, name = path.split("/")
        run = RUNS[name]
        if part == "plans":
            keys = ("is-destroy", "target-addrs", "files", "refresh", "variables")
            facts = json.dumps({key: run[key] for key in keys if key in run})
            text = f"\x02Planning of {name}\n{facts}\n\x03"
            if run["plan.json"]:
                text = f"\x02{STRUCTURED_LOG}\x03"
        else:
            text = "\x02Applying\nApply complete!\n\x03"
        data = text.encode()
        begin = int(asked["offset"])
        self.reply(200, raw=data[begin : begin + 90])  # in small pieces
        if begin + 90 >= len(data) and part not in run.get("ended", ()):
            self.advance(run, part)

    def projects(self, attributes: dict[str, Any], asked: dict[str, str]) -> None:
        def one(name: str) -> dict[str, Any]:
            return {"id": PROJECTS[name], "type": "projects", "attributes": {"name": name}}

        if self.command == "POST":
            PROJECTS[attributes["name"]] = f"prj-{len(PROJECTS)}"
            return self.reply(201, {"data": one(attributes["name"])})
        names = [name for name in PROJECTS if asked.get("filter[names]", name) == name]
        pages = {"current-page": 1, "total-pages": 1, "total-count": len(names)}
        return self.reply(200, {"data": [one(name) for name in names], "meta": {"pagination": pages}})

    def made(self, data: dict[str, Any], attributes: dict[str, Any]) -> None:
        name, relations = attributes["name"], data.get("relationships") or {}
        if name in WORKSPACES:
            return self.refuse(422, "invalid attribute", "Name has already been taken")
        WORKSPACES[name] = {
            "id": f"ws-{name}",
            "name": name,
            "locked": False,
            "locked-reason": "",
            "execution-mode": "remote" if name.endswith("-there") else "local",
            "terraform-version": "1.5.0" if name.startswith("old-") else "1.12.6",
            "tag-names": [tag["attributes"]["name"] for tag in (relations.get("tags") or {}).get("data") or []],
            "project": ((relations.get("project") or {}).get("data") or {}).get("id"),
            "version": "",
        }
        return self.reply(201, shown(WORKSPACES[name]))

    def listed(self, asked: dict[str, str]) -> None:
        tags = {tag for tag in asked.get("search[tags]", "").split(",") if tag}
        found = [
            shown(one)["data"]
            for name, one in WORKSPACES.items()
            if asked.get("search[name]", "") in name
            and tags <= set(one["tag-names"])
            and asked.get("filter[project][id]", one["project"]) == one["project"]
        ]
        page, pages = int(asked.get("page[number]", 1)), -(-len(found) // PAGE) or 1
        meta = {"current-page": page, "next-page": page + 1 if page < pages else None, "total-pages": pages}
        items = found[(page - 1) * PAGE : page * PAGE]
        return self.reply(200, {"data": items, "meta": {"pagination": {**meta, "total-count": len(found)}}})

    def workspace(
        self, workspace: dict[str, Any], action: str, body: dict[str, Any], attributes: dict[str, Any]
    ) -> None:
        if action == "" and self.command == "PATCH":
            return self.reply(200, shown(workspace))
        if action == "runs":
            mine = [self.shown_run(name)["data"] for name, run in RUNS.items() if run["workspace"] == workspace["id"]]
            pages = {"current-page": 1, "total-pages": 1, "total-count": len(mine)}
            return self.reply(200, {"data": mine[::-1], "meta": {"pagination": pages}})
        if action == "vars":
            listed = [
                {"id": f"var-{at}", "type": "vars", "attributes": dict(zip(VARIABLE, one, strict=True))}
                for at, one in enumerate(VARIABLES)
            ]
            return self.reply(200, {"data": listed})
        if action == "relationships/tags":
            tags = [tag["attributes"]["name"] for tag in body["data"]]
            workspace["tag-names"] = sorted({*workspace["tag-names"], *tags})
            return self.reply(204)
        if action == "actions/lock":
            if workspace["locked"]:
                return self.refuse(409, "conflict", "workspace already locked")
            reason = body.get("reason") or attributes.get("reason") or ""
            workspace.update({"locked": True, "locked-reason": reason})
            return self.reply(200, shown(workspace))
        if action in ("actions/unlock", "actions/force-unlock"):
            if not workspace["locked"]:
                return self.refuse(409, "conflict", "workspace already unlocked")
            workspace.update({"locked": False, "locked-reason": ""})
            return self.reply(200, shown(workspace))
        if action == "current-state-version" and workspace["version"]:
            return self.reply(200, version(workspace["version"]), **interval(workspace))
        if action == "configuration-versions":
            name = f"cv-{len(CONFIGURATIONS)}"
            CONFIGURATIONS[name], CONFIGURED[name] = None, attributes
            made = {"status": "pending", "upload-url": f"http://127.0.0.1:{PORT}/objects/{name}"}
            return self.reply(201, {"data": {"id": name, "type": "configuration-versions", "attributes": made}})
        if action == "state-versions":
            return self.new_version(workspace, attributes)
        return self.refuse(404, "not found")

    def new_version(self, workspace: dict[str, Any], given: dict[str, Any]) -> None:
        old = VERSIONS.get(workspace["version"])
        if old is not None and not given.get("force") and given["serial"] < old["serial"]:
            return self.refuse(409, "conflict", f"serial {given['serial']} is older than {old['serial']}")
        if workspace["name"].endswith("-old") and "state" not in given:
            return self.refuse(400, "param is missing or the value is empty: state")
        json.loads(base64.b64decode(given["json-state-outputs"]))
        name = f"sv-{len(VERSIONS)}"
        data = base64.b64decode(given["state"]) if "state" in given else None
        VERSIONS[name] = {"serial": given["serial"], "md5": given["md5"], "data": data, **given}
        workspace["version"] = name
        return self.reply(201, version(name), **interval(workspace))


ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
