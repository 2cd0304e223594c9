"""The commands, with descriptions and modules. A module is imported when its command runs."""

from __future__ import annotations

import sys

from planner.cli.flags import Command

PURPOSES = {
    "Everyday": ("init", "validate", "plan", "apply", "destroy", "test", "fmt"),
    "Explain": ("why", "what-if", "vars", "query", "explore", "watch", "suggest", "cycles", "graph"),
    "Review": ("ci", "comment", "drift", "policy", "sign", "show"),
    "Fleets and stacks": ("batch", "stacks"),
    "Objects": (
        "import",
        "discover",
        "refactor",
        "state",
        "output",
        "console",
        "workspace",
        "refresh",
        "taint",
        "untaint",
        "force-unlock",
    ),
    "Rules": ("rules", "language-server", "mcp"),
    "Setup": ("login", "logout", "get", "providers", "version"),
    "Documentation": ("help", "docs", "explain", "schema", "metadata"),
}
"""{purpose: top-level commands}, as in help"""

COMMANDS = {
    "init": "Prepare the directory: install modules, select providers",
    "validate": "Check the configuration",
    "plan": "Show what apply would do",
    "apply": "Create, change or destroy objects to match the configuration",
    "destroy": "Destroy all managed objects",
    "batch": "Plan and apply many root modules as one graph",
    "batch apply": "Apply a fleet until no changes are left",
    "batch clean": "Remove the records of old runs",
    "batch destroy": "Destroy all objects of a fleet",
    "batch drift": "Show changes made outside planner in a fleet",
    "batch explore": "Write a page about the plans of a fleet, for a browser",
    "batch graph": "Draw the order of the units",
    "batch join": "Join the results of parallel jobs",
    "batch plan": "Show what applying a fleet would do",
    "batch policy": "Check the plans of a fleet together against policies",
    "batch query": "Query all units",
    "batch resume": "Continue an interrupted run",
    "batch validate": "Check the configurations of a fleet",
    "batch work": "Execute the work of a unit for another machine",
    "batch why": "Explain why one unit waits for another",
    "ci": "Run a command in a CI job, with its report on the pull request",
    "comment": "Write a report as a comment on the pull request",
    "console": "Evaluate expressions interactively",
    "cycles": "Show cycles, and the references to remove",
    "discover": "Search for existing objects, and generate configuration for them",
    "docs": "Show the documentation in the terminal",
    "drift": "Show changes made outside planner since the last apply",
    "explain": "Explain an error or a warning: cause and fix",
    "explore": "Write a page about a plan, for a browser",
    "fmt": "Rewrite configuration files in the standard layout",
    "force-unlock": "Remove a stuck lock of the state",
    "get": "Install or upgrade modules",
    "graph": "Draw the graph of an operation",
    "help": "Show the commands, or the help of one",
    "import": "Bring an existing object under management",
    "language-server": "Serve editors of configuration and rule files",
    "login": "Get a token for a host, and store it",
    "logout": "Remove the token of a host",
    "mcp": "Answer questions of assistants (Model Context Protocol)",
    "metadata": "Describe this program to other programs",
    "metadata functions": "Show the signatures of the language's functions",
    "output": "Show the output values of the root module",
    "policy": "Check plans against policies",
    "policy check": "Judge a plan",
    "policy init": "Write a first policy, or install the packs of a policy.toml",
    "policy list": "Show the policies that come with planner",
    "policy lock": "Write the versions and hashes of packs into the lock file",
    "policy test": "Run the cases of policies",
    "policy update": "Select the newest versions of packs",
    "providers": "Show which providers the configuration needs",
    "providers lock": "Record checksums of the providers for several platforms",
    "providers mirror": "Copy the providers into a mirror directory",
    "providers schema": "Show the schemas of the providers in use",
    "query": "Query the derived relations",
    "refactor": "Rename and rearrange configuration without changing any object",
    "refactor adopt": "Write configuration for objects that have none",
    "refactor count-to-for-each": "Turn a count into a for_each",
    "refactor extract-module": "Move blocks into a new module",
    "refactor inline-module": "Replace a module call with the blocks of the module",
    "refactor merge-state": "Merge another root module and its state into this one",
    "refactor mv": "Rename a resource, module, variable, local value or output",
    "refactor rename-key": "Rename a key of for_each",
    "refactor split-state": "Move blocks and their objects to another root module",
    "refactor undo": "Undo the last refactoring",
    "refresh": "Update the state from the real objects",
    "rules": "Show the rules, check and test your own",
    "rules check": "Check rule files",
    "rules doc": "Document a predicate and the rules that derive and read it",
    "rules fmt": "Rewrite rule files in the standard layout",
    "rules graph": "Draw the dependencies of predicates",
    "rules list": "List every rule",
    "rules stats": "Show the number of derived tuples and the time of rules",
    "rules test": "Run the cases of rule files",
    "schema": "Print the JSON Schema of a document",
    "show": "Show the state or a saved plan",
    "sign": "Approve a saved plan with a signature",
    "stacks apply": "Apply deployments of a stack until no part is deferred",
    "stacks destroy": "Destroy all objects of deployments",
    "stacks fmt": "Rewrite stack files in the standard layout",
    "stacks from-modules": "Convert a root module to a stack",
    "stacks graph": "Draw the data flow between components",
    "stacks init": "Install modules and child stacks, select providers",
    "stacks output": "Show the outputs of deployments",
    "stacks plan": "Show what applying deployments would do",
    "stacks policy": "Check planned deployments as a whole against policies",
    "stacks providers-lock": "Record checksums of a stack's providers for several platforms",
    "stacks query": "Query a planned deployment",
    "stacks show": "Show the objects and outputs of deployments",
    "stacks state": "List, show and edit the states of deployments",
    "stacks state list": "List the resource instances of deployments",
    "stacks state mv": "Move an object of a component to another address",
    "stacks state rm": "Forget objects of a component without destroying them",
    "stacks state show": "Show one resource instance of a component",
    "stacks to-modules": "Convert a deployment to a root module",
    "stacks validate": "Check a stack",
    "stacks why": "Explain why a component is deferred, or depends on another",
    "stacks": "Plan and apply stacks: components and deployments",
    "state": "List, show and edit the state",
    "state journal": "Show the journals of interrupted operations",
    "state list": "List the resource instances in the state",
    "state mv": "Move an object in the state to another address",
    "state pull": "Print the state",
    "state push": "Replace the state with a file",
    "state replace-provider": "Change the provider of objects in the state",
    "state rm": "Forget objects without destroying them",
    "state show": "Show one resource instance of the state",
    "state verify": "Check the state, its backup and its journal",
    "suggest": "Suggest moved blocks and other improvements of a plan",
    "taint": "Mark an object for replacement",
    "test": "Run test files",
    "untaint": "Remove an object's mark for replacement",
    "vars": "Show the input variables: values, and where they come from",
    "version": "Show the version",
    "watch": "Plan again when files are saved, and show how the plan changes",
    "what-if": "Show how a plan would differ with other options",
    "why": "Explain an action, an unknown value or an edge of the graph",
    "workspace": "Manage workspaces",
    "workspace delete": "Delete a workspace",
    "workspace list": "List the workspaces",
    "workspace new": "Create a workspace and select it",
    "workspace select": "Select a workspace",
    "workspace show": "Show the selected workspace",
}

FAMILIES = {
    "batch": "Plans and applies many root modules as one graph. Each root module is a unit; the order of units is "
    "derived from the remote states that they read, from the fleet's file planner.batch.hcl, and from your rules.",
    "metadata": "Describes this program to other programs.",
    "policy": "Checks plans against policies: rules that deny a plan, or warn about it.",
    "refactor": "Edits configuration files without changing any object: the edits are written only if the plan with "
    "them equals the plan without them.",
    "rules": "Shows the rules from which all decisions are derived, and checks and tests your own rules. "
    "rules/README.md documents the language of the rules.",
    "stacks": "Plans and applies stacks: components (*.tfcomponent.hcl) and deployments (*.tfdeploy.hcl).",
    "stacks state": "Lists, shows and edits the states of the components of deployments.",
    "state": "Lists, shows and edits the state.",
    "workspace": "Lists, creates, selects and deletes workspaces.",
}
"""{family of commands: help text}"""

MODULES = {
    "apply": ("apply", "destroy"),
    "batch": (
        "batch graph",
        "batch query",
        "batch why",
        "batch policy",
        "batch explore",
        "batch join",
        "batch clean",
        "batch work",
    ),
    "batch_runs": (
        "batch plan",
        "batch validate",
        "batch drift",
        "batch apply",
        "batch destroy",
        "batch resume",
    ),
    "ci": ("ci", "comment"),
    "documentation": ("help", "docs", "explain", "schema", "metadata functions"),
    "fmt": ("fmt", "stacks fmt"),
    "graph": ("graph", "cycles"),
    "init": ("init", "get", "stacks init"),
    "login": ("login", "logout"),
    "objects": ("import", "taint", "untaint", "refresh", "force-unlock"),
    "policy": ("policy init", "policy list", "policy lock", "policy update", "policy test"),
    "providers": ("providers", "providers lock", "providers mirror", "providers schema", "stacks providers-lock"),
    "query": ("query", "discover"),
    "questions": ("what-if", "drift", "vars", "explore", "suggest"),
    "refactor": (
        "refactor mv",
        "refactor rename-key",
        "refactor count-to-for-each",
        "refactor adopt",
        "refactor extract-module",
        "refactor inline-module",
        "refactor split-state",
        "refactor merge-state",
        "refactor undo",
    ),
    "rules": ("rules list", "rules doc", "rules graph", "rules stats", "rules check", "rules fmt", "rules test"),
    "servers": ("language-server", "mcp"),
    "show": ("show", "output"),
    "stacks_apply": ("stacks plan", "stacks apply", "stacks destroy"),
    "stacks_convert": ("stacks from-modules", "stacks to-modules"),
    "stacks_query": ("stacks query", "stacks graph", "stacks policy", "stacks show", "stacks output"),
    "stacks_state": ("stacks state list", "stacks state show", "stacks state mv", "stacks state rm"),
    "state": (
        "state list",
        "state show",
        "state mv",
        "state rm",
        "state replace-provider",
        "state pull",
        "state push",
        "state verify",
        "state journal",
    ),
    "validate": ("validate", "stacks validate"),
    "workspace": ("workspace list", "workspace show", "workspace new", "workspace select", "workspace delete"),
}
"""{module of planner.cli.commands: its commands}, for modules with several commands; other modules have the name of
their command"""

ALIASES = {
    "lsp": "language-server",
    "state ls": "state list",
    "state remove": "state rm",
    "state move": "state mv",
    "env": "workspace",
    "env list": "workspace list",
    "env select": "workspace select",
    "env new": "workspace new",
    "env delete": "workspace delete",
}

DEPRECATED = "env"
"""the former name of the family `workspace`, which is accepted with a warning"""

HOSTED = {
    "stacks configuration": "planner uploads nothing: it reads the configuration from the working directory",
    "stacks create": "for planner, a stack is a directory, so there is nothing to create",
    "stacks deployment-group": "use planner stacks plan and apply, and select deployments with -deployment",
    "stacks deployment-run": "use planner stacks plan and apply, and select deployments with -deployment",
    "stacks diagnostics": "planner stacks validate and plan report errors",
    "stacks list": "for planner, a stack is a directory; planner stacks show lists its deployments",
    "stacks migrate": "use planner stacks from-modules to convert a root module to a stack",
}
"""{command of `terraform stacks` that needs a hosted service: the command to use instead}"""

ANSWERS = frozenset(
    (
        *(
            "batch graph",
            "batch policy",
            "batch query",
            "batch why",
            "console",
            "cycles",
            "docs",
            "drift",
            "explain",
            "fmt",
            "graph",
            "help",
            "language-server",
            "mcp",
            "metadata functions",
        ),
        *(
            "output",
            "policy check",
            "policy list",
            "policy test",
            "providers",
            "providers schema",
            "query",
            "rules doc",
            "rules graph",
        ),
        *(
            "rules list",
            "rules stats",
            "schema",
            "show",
            "state list",
            "state pull",
            "state show",
            "state verify",
            "vars",
            "version",
        ),
        *("stacks graph", "stacks policy", "stacks query", "stacks show", "stacks state list", "stacks state show"),
        *("why", "workspace list", "workspace show"),
    )
)
"""commands that print only a result to standard output"""


def load(command: str) -> Command:
    """Import a command. The function's name is derived from the command: state_list for `state list`; import_ for
    `import`, which is a keyword."""
    if command in FAMILIES:
        return Command("COMMAND [options]", FAMILIES[command])
    name = "import_" if command == "import" else command.replace(" ", "_").replace("-", "_")
    module = next((module for module, commands in MODULES.items() if command in commands), name)
    module = f"planner.cli.commands.{module}"
    __import__(module)
    loaded: Command = getattr(sys.modules[module], name)
    return loaded


def subcommands(command: str) -> list[str]:
    """Commands directly below a command, for its help."""
    return [name for name in COMMANDS if name.rpartition(" ")[0] == command]
