"""One entry point for everything that this repository does: `python3 tasks.py book`, or `make book`.

Standard library only, and written so that an old Python can still read it far enough to be refused in words. The
commands run inside `.venv` (or the folder that VENV_DIR names), which is made when needed and left alone when nothing
that it depends on has changed.
"""

import argparse
import contextlib
import errno
import functools
import hashlib
import http.server
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SITE = ROOT / "_build" / "html"
WANTED = (3, 11)
QUICK = "not long and not site"  # what needs neither minutes nor a built site
LOCALHOST = "127.0.0.1"
# JupyterLab opens a Markdown chapter as a notebook on a double click only when its default viewer says so
LAB_VIEWERS = {"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Jupytext Notebook"}}}


class Refusal(Exception):
    """A reason to stop that the reader can act on; printed without a traceback."""


def check_python(version=None, executable=None):
    """Refuse a Python that the book does not run on, and say how to choose another."""
    found = tuple(version or sys.version_info)[:3]
    if found[:2] < WANTED:
        raise Refusal(
            f"this is Python {'.'.join(map(str, found))} ({executable or sys.executable}); the book wants Python "
            f"{'.'.join(map(str, WANTED))} or newer.\nInstall one and name it: make book PYTHON=python3.12"
        )


class Environment:
    """The virtual environment: where it is, whether it is still good, and how it is made.

    Two small files inside the folder remember what was done: `.made` (which Python, in which place), written once the
    environment itself stands, and `.ready` (the recipe), written only after pip has succeeded. So an installation that
    was killed half way never looks finished.
    """

    def __init__(self, root=ROOT, folder=None, run=subprocess.run):
        self.root = Path(root)
        self.folder = Path(folder or os.environ.get("VENV_DIR") or self.root / ".venv").absolute()
        self.run = run

    @property
    def python(self):
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def install_command(self):
        extras = ["book", "dev"]
        if platform.system() == "Linux" and platform.machine() in ("x86_64", "AMD64"):
            extras.append("gpu")  # triton is published for no other platform
        return [
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "-c",
            "constraints.txt",
            "-e",
            f".[{','.join(extras)}]",
        ]

    def recipe(self):
        """A hash of all that decides what pip installs."""
        digest = hashlib.sha256(json.dumps(self.install_command()).encode())
        for name in ("pyproject.toml", "constraints.txt"):
            digest.update((self.root / name).read_bytes())
        return digest.hexdigest()

    def place(self):
        """What an environment cannot survive a change of: its Python, and the paths written into its scripts."""
        return json.dumps({"python": platform.python_version(), "folder": str(self.folder), "project": str(self.root)})

    def ensure(self):
        """Make or mend the environment if needed; do nothing, not even start pip, when it is ready."""
        flaw = self.flaw()
        if flaw:
            self.create(flaw)
        if read(self.folder / ".ready") != self.recipe():
            self.install()

    def flaw(self):
        """Why the environment has to be made anew, or an empty string."""
        if not self.folder.exists():
            return "there is none yet"
        if not (self.folder / "pyvenv.cfg").exists() and any(self.folder.iterdir()):
            raise Refusal(f"{self.folder} is not a virtual environment; it is left alone. Name another with VENV_DIR.")
        if not self.python.exists():
            return "its Python is gone"
        made = read(self.folder / ".made")
        if not made:
            return "it was left half made, or made by something else"
        if made != self.place():
            return "it was made by another Python, or in another folder"
        probe = self.run([str(self.python), "-c", "pass"], capture_output=True)
        return "its Python does not start" if probe.returncode else ""

    def create(self, reason):
        say(f"Making the virtual environment {self.folder} ({reason})")
        if self.folder.exists():
            shutil.rmtree(self.folder)
        made = self.run([sys.executable, "-m", "venv", str(self.folder)], capture_output=True, text=True)
        if made.returncode:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise Refusal(venv_advice(made.stdout + made.stderr))
        write(self.folder / ".made", self.place())

    def install(self):
        say("Installing what the book needs (some minutes the first time: torch is large)")
        remove(self.folder / ".ready")
        pip = self.run([str(self.python), *self.install_command()], cwd=str(self.root))
        if pip.returncode:
            raise Refusal(
                "pip could not install what the book needs: its message is above. Without a network, only an "
                "environment that is already complete can be used."
            )
        write(self.folder / ".ready", self.recipe())


def venv_advice(output):
    if "ensurepip" in output or "No module named venv" in output:
        version = "{}.{}".format(*sys.version_info[:2])
        return (
            f"{output.strip()}\n\nThis Python cannot make virtual environments. On Debian or Ubuntu: "
            f"apt install python{version}-venv"
        )
    return f"{output.strip()}\n\nthe virtual environment could not be made: the message is above."


def read(path):
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def write(path, text):
    """Write through a temporary file, so that a kill leaves the old content or the new one, nothing in between."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(str(draft), str(path))


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def say(text):
    print(text, flush=True)


def python(*arguments):
    """Run the environment's Python in the repository and return its exit status."""
    environment = Environment()
    environment.ensure()
    # a reader's own kernel named python3 must not take the place of the environment's
    settings = dict(os.environ, JUPYTER_PREFER_ENV_PATH="1", PYTHONUNBUFFERED="1")
    return subprocess.run([str(environment.python), *arguments], cwd=str(ROOT), env=settings).returncode


def setup(options):
    Environment().ensure()
    say("The environment is ready.")
    return 0


def book(options):
    return python("-m", "lib.build", "book")


def test(options):
    return python("-m", "pytest", "-m", QUICK, *options.rest)


def tables(options):
    return python("-m", "lib.build", "tables", *(["--accept"] if options.accept else []))


def bench(options):
    tests = python("-m", "pytest", "-m", "long", *options.rest)
    return tests or python("-m", "benchmarks.decode") or python("-m", "benchmarks.prefill")


def train(options):
    return python("-m", "lib.stack", "train", *options.rest)


def check(options):
    """All checks, each of them even when one before it failed, so that one run tells everything."""
    steps = {
        "lint": ["-m", "ruff", "check", "."],
        "tests": ["-m", "pytest", "-m", QUICK],
        "tables": ["-m", "lib.build", "tables"],
        "book": ["-m", "lib.build", "book"],
        "site": ["-m", "lib.sitecheck"],
        "browser": ["-m", "pytest", "-m", "site", "-rs", "tests/site"],
    }
    if options.without_tests:
        del steps["tests"]
    failed = []
    for name, command in steps.items():
        say(f"\n== {name}")
        if python(*command):
            failed.append(name)
    say("\nAll checks passed." if not failed else f"\nFailed: {', '.join(failed)}")
    return 1 if failed else 0


def lab(options):
    environment = Environment()
    environment.ensure()
    folder = environment.folder / "etc" / "jupyter" / "labconfig"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "default_setting_overrides.json", json.dumps(LAB_VIEWERS, indent=2))
    return python("-m", "jupyter", "lab", *options.rest)


def serve(options):
    if not (SITE / "index.html").exists():
        raise Refusal(f"there is no site in {SITE} yet: make book")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SITE))
    try:
        server = http.server.ThreadingHTTPServer((LOCALHOST, options.port), handler)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        why = "taken" if error.errno == errno.EADDRINUSE else "not yours to open"
        raise Refusal(f"port {options.port} is {why}; choose another: make serve PORT={options.port + 1}") from None
    say(f"The book is at http://localhost:{options.port} (Ctrl-C ends)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        say("")
    finally:
        server.server_close()
    return 0


def clean(options):
    """Remove what a build makes; with --all the environment too."""
    folders = [ROOT / "_build"] + ([Environment().folder] if options.all else [])
    for folder in folders:
        if folder.exists():
            shutil.rmtree(folder)
            say(f"removed {folder}")
    return 0


def port(text):
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"port {text!r}: wanted a number from 1 to 65535")
    return int(text)


def parser():
    root = argparse.ArgumentParser(prog="tasks.py", description="Build, test and read the book.")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(function, help_text):
        command = commands.add_parser(function.__name__, help=help_text)
        command.set_defaults(function=function, rest=[])
        return command

    add(book, "execute all chapters, check all tables, write _build/html")
    add(test, "run the tests").add_argument("rest", nargs=argparse.REMAINDER, help="arguments for pytest")
    add(serve, "show the built site on this machine").add_argument(
        "--port", type=port, default=os.environ.get("PORT") or "8000"
    )
    add(tables, "recompute every table and print each changed cell").add_argument(
        "--accept", action="store_true", help="write the recomputed tables to data/tables"
    )
    add(check, "lint, tests, tables, strict build and checks of the site").add_argument(
        "--without-tests", action="store_true", help="when the tests have just been run"
    )
    add(lab, "open the chapters as notebooks in JupyterLab").add_argument("rest", nargs=argparse.REMAINDER)
    add(bench, "run the long tests and benchmarks: a million tokens, minutes of work").add_argument(
        "rest", nargs=argparse.REMAINDER
    )
    add(train, "train the small models of the convergence chapter; a second call goes on").add_argument(
        "rest", nargs=argparse.REMAINDER, help="options of python -m lib.stack train"
    )
    add(clean, "remove _build").add_argument("--all", action="store_true", help="the virtual environment too")
    add(setup, "make the virtual environment, nothing else")
    return root


def main(arguments=None):
    try:
        check_python()
        options = parser().parse_args(arguments)
        return options.function(options)
    except Refusal as refusal:
        print(f"\n{refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
