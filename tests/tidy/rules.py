"""The rules, as functions from a syntax tree or a text to complaints. Each complaint says what to do instead.

Every rule has a planted violation in test_rules.py: a rule that cannot fail is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FUNCTION_LINES_MAX = 70
POSITIONAL_MAX = 5

Complaint = tuple[int, str]
"""Line and what to do."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


# Size and form --------------------------------------------------------------------------------------------------
def long_functions(tree: ast.AST) -> Iterator[Complaint]:
    for node in functions(tree):
        assert node.end_lineno is not None
        lines = node.end_lineno - node.lineno + 1
        if lines > FUNCTION_LINES_MAX:
            yield (
                node.lineno,
                f"{node.name} has {lines} lines, at most {FUNCTION_LINES_MAX}: split it by what it decides",
            )


def crowded_signatures(tree: ast.AST) -> Iterator[Complaint]:
    for node in functions(tree):
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        positional = names[1:] if names[:1] in (["self"], ["cls"]) else names
        if len(positional) > POSITIONAL_MAX:
            yield (
                node.lineno,
                f"{node.name} has {len(positional)} positional parameters, at most {POSITIONAL_MAX}: "
                "make some keyword-only, or group them in a struct",
            )


def logic_in_init(tree: ast.Module) -> Iterator[Complaint]:
    """An __init__.py imports (now or `later`), exports, documents and names unions; nothing else."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            if not node.orelse and all(isinstance(inner, ast.ImportFrom) for inner in node.body):
                continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Assign) and all(isinstance(target, ast.Name) for target in node.targets):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names in (["__all__"], ["__version__"]) or is_union(node.value):
                continue
            if names == ["__getattr__"] and ast.unparse(node.value).startswith("later("):
                continue
        yield node.lineno, "only imports, __all__ and a docstring belong in __init__.py: move it to a module"


def is_union(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return is_union(node.left) and is_union(node.right)
    return isinstance(node, ast.Name)


def missing_docstring(tree: ast.Module) -> Iterator[Complaint]:
    if tree.body and not ast.get_docstring(tree):
        yield 1, "begin with a docstring: what this module owns, and what it must not know"


# Purity of the core ---------------------------------------------------------------------------------------------
BANNED_MODULES = {
    "asyncio": "answer with effects and set a deadline (core/deadlines.py)",
    "concurrent": "the core runs in one thread, its driver's",
    "datetime": "use the `now` that handle was given, in nanoseconds",
    "io": "use Persist and Load effects",
    "logging": "append a TraceRecord to effects.traces",
    "multiprocessing": "the core runs in one thread, its driver's",
    "os": "take what you need from BrokerConfig or an event",
    "pathlib": "use Persist and Load effects",
    "secrets": "use the random.Random given to the constructor",
    "selectors": "use Dial, Send and Close effects",
    "socket": "use Dial, Send and Close effects",
    "sqlite3": "use Persist and Load effects",
    "subprocess": "the core starts nothing",
    "sys": "take what you need from BrokerConfig",
    "tempfile": "use Persist and Load effects",
    "threading": "the core runs in one thread, its driver's",
    "time": "use the `now` that handle was given",
    "uuid": "use the random.Random given to the constructor",
    "warnings": "append a TraceRecord to effects.traces",
    "weakref": "its contents depend on the garbage collector: use a dict and delete on purpose",
}
BANNED_CALLS = {
    "breakpoint": "write a test",
    "exec": "write the code",
    "eval": "write the code",
    "hash": "it is salted per process: use types.key_of",
    "id": "it differs from run to run: number things yourself",
    "input": "take it from an event",
    "open": "use Persist and Load effects",
    "print": "append a TraceRecord to effects.traces",
}


def impure_imports(tree: ast.AST) -> Iterator[Complaint]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "random" and any(alias.name != "Random" for alias in node.names):
                yield (
                    node.lineno,
                    "from random import only Random, for annotations: the generator is given to the constructor",
                )
        for name in names:
            top = name.split(".")[0]
            if top in BANNED_MODULES:
                yield node.lineno, f"{top} is banned here: {BANNED_MODULES[top]}"


def impure_calls(tree: ast.AST) -> Iterator[Complaint]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in BANNED_CALLS:
            yield node.lineno, f"{node.func.id}() is banned here: {BANNED_CALLS[node.func.id]}"
        if ast.unparse(node.func).startswith("random."):
            yield (
                node.lineno,
                f"{ast.unparse(node.func)}() is banned here: use the random.Random given to the constructor",
            )


# Iteration over sets --------------------------------------------------------------------------------------------
ORDERLESS = {"sorted", "any", "all", "sum", "min", "max", "len", "set", "frozenset", "bool"}
"""What a set may be given to: the result does not depend on its order."""
ORDERING = {"list", "tuple", "iter", "enumerate", "deque", "dict", "zip", "map", "filter", "reversed"}


class SetNames(ast.NodeVisitor):
    """Names and attributes that one file annotates or assigns as sets."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if is_set_annotation(node.annotation):
            self.found[ast.unparse(node.target)] = None
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if is_set(node.value, {}):
            for target in node.targets:
                self.found[ast.unparse(target)] = None
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        if node.annotation is not None and is_set_annotation(node.annotation):
            self.found[node.arg] = None


def is_set_annotation(node: ast.expr) -> bool:
    return bool(re.match(r"(typing\.)?(set|frozenset|Set|FrozenSet|AbstractSet|MutableSet)(\[|$)", ast.unparse(node)))


def is_set(node: ast.expr, names: dict[str, None]) -> bool:
    """Whether an expression is a set, as far as one file can tell."""
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("set", "frozenset")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("union", "intersection", "difference", "symmetric_difference") and is_set(
            node.func.value, names
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return is_set(node.left, names) or is_set(node.right, names)
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names


def set_iteration(tree: ast.AST) -> Iterator[Complaint]:
    """Loops, comprehensions, conversions and pops whose result depends on the order of a set."""
    remedy = "the order of a set differs from run to run: use a dict, or sorted()"
    collector = SetNames()
    collector.visit(tree)
    names = collector.found
    orderless = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ORDERLESS
        for inner in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor) and is_set(node.iter, names):
            yield node.lineno, remedy
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp) and node not in orderless:
            if any(is_set(generator.iter, names) for generator in node.generators):
                yield node.lineno, remedy
        elif isinstance(node, ast.Starred) and is_set(node.value, names):
            yield node.lineno, remedy
        elif isinstance(node, ast.Call) and node.args and is_set(node.args[0], names):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
            if called in ORDERING or called in ("join", "fromkeys", "extend"):
                yield node.lineno, remedy
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop":
            if not node.args and is_set(node.func.value, names):
                yield node.lineno, remedy


# Docstrings -----------------------------------------------------------------------------------------------------
NAMED_FILE = re.compile(r"(?<![\w/.$<{*-])((?:[\w-]+/)*[\w-]+\.py)\b")


def missing_files(tree: ast.AST, folders: tuple[Path, ...]) -> Iterator[Complaint]:
    """Modules that a docstring names and that are in none of the folders."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for name in NAMED_FILE.findall(node.value.value):
                if not any((folder / name).exists() for folder in folders):
                    yield node.lineno, f"there is no {name}: name the module that does it, from the root or beside it"


# Tests ----------------------------------------------------------------------------------------------------------
def bare_sleeps(tree: ast.AST) -> Iterator[Complaint]:
    """A sleep outside a loop waits for luck; inside one it is the pause of a poll."""
    polled = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("time.sleep", "asyncio.sleep", "sleep"):
            zero = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
            if node not in polled and not zero:
                yield node.lineno, "tests do not sleep to wait: poll a condition with a bound, or use virtual time"


# Texts ----------------------------------------------------------------------------------------------------------
MARKS = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
MACHINE_PATH = re.compile(r"(?<![\w.$)}])/(?:home|root|Users|work|opt|mnt|tmp)/\w")
ADDRESS = re.compile(r"https?://([^/\s\"'`<>)]+)")
PUBLIC_HOSTS = {"sqlite.org", "www.apache.org", "www.sqlite.org", "www.w3.org"}
"""Where a licence or a standard lies; it is the same for everybody."""


def placeholders(tree: ast.AST) -> Iterator[Complaint]:
    """People are told what is not there, not shown the place where it would be."""
    for node in ast.walk(tree):
        instead: list[ast.expr] = []
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            instead = [node.values[-1]]
        elif isinstance(node, ast.IfExp):
            instead = [node.body, node.orelse]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            instead = node.args[1:]
        for one in instead:
            if isinstance(one, ast.Constant) and one.value in ("?", "none", "None", "null"):
                yield one.lineno, f"{one.value!r} stands for what is not there; say in words what is missing"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\bis none \(", node.value):
            yield node.lineno, "'is none' says what it is not; say what it is instead"


def leftovers(text: str) -> Iterator[Complaint]:
    for number, line in enumerate(text.splitlines(), 1):
        if mark := MARKS.search(line):
            yield number, f"{mark[0]}: do it now, or open an issue"


def machine_traces(text: str) -> Iterator[Complaint]:
    """Paths and hosts that are true on one machine only."""
    for number, line in enumerate(text.splitlines(), 1):
        if found := MACHINE_PATH.search(line):
            yield number, f"{found[0]}...: a path of one machine; derive it, or use a temporary folder"
        for host in ADDRESS.findall(line):
            # A name without a dot is nobody's host: an example, or a placeholder.
            if "." in host and host not in PUBLIC_HOSTS and not re.match(r"127\.0\.0\.1|[{$%]", host):
                yield number, f"{host}: a host; name the thing, not where it lies"
