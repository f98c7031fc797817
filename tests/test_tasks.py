"""tasks.py: the environment is made once, mended when broken, never trusted when half made; clear refusals."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

import tasks
from tests.conftest import ROOT


class FakeRun:
    """Stands in for subprocess.run: makes what `venv` would make, and answers for pip."""

    def __init__(self, pip_status=0, pip_error=None, venv_output=""):
        self.pip_status, self.pip_error, self.venv_output = pip_status, pip_error, venv_output
        self.calls = []

    def __call__(self, command, **options):
        kind = "venv" if "venv" in command else "pip" if "pip" in command else "probe"
        self.calls.append(kind)
        if kind == "venv":
            if self.venv_output:
                return SimpleNamespace(returncode=1, stdout=self.venv_output, stderr="")
            folder = tasks.Path(command[-1])
            (folder / "bin").mkdir(parents=True)
            (folder / "bin" / "python").touch()
            (folder / "pyvenv.cfg").touch()
        if kind == "pip" and self.pip_error:
            raise self.pip_error
        return SimpleNamespace(returncode=self.pip_status if kind == "pip" else 0, stdout="", stderr="")


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "a book with spaces"
    root.mkdir()
    (root / "pyproject.toml").write_text("[project]")
    (root / "constraints.txt").write_text("torch==2.13.0")
    return root


def ensure(root, **answers):
    """Run `ensure` once; the steps that it took."""
    run = FakeRun(**answers)
    tasks.Environment(root, root / ".venv", run).ensure()
    return [step for step in run.calls if step != "probe"]


def test_an_old_python_can_read_the_file_far_enough_to_be_refused():
    # breaks when somebody writes `match`, `:=` or `X | Y` annotations that 3.6 cannot parse
    ast.parse((ROOT / "tasks.py").read_text(encoding="utf-8"), feature_version=(3, 6))


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 6, 1), (2, 7, 18)])
def test_an_old_python_is_refused_in_words(version):
    # breaks when WANTED is compared with the whole version, or the way out is not named
    with pytest.raises(tasks.Refusal) as refusal:
        tasks.check_python(version, "/usr/bin/python3")
    for words in (".".join(map(str, version)), "/usr/bin/python3", "3.11 or newer", "make book PYTHON=python3.12"):
        assert words in str(refusal.value)


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 13, 2)])
def test_a_new_python_is_not_refused(version):
    tasks.check_python(version)


def test_the_refusal_is_the_first_thing_that_happens(tmp_path):
    # breaks when the environment is made before the version is checked
    code = "import sys; sys.version_info = (3, 10, 1); import tasks; sys.exit(tasks.main(['book']))"
    settings = {**os.environ, "VENV_DIR": str(tmp_path / "venv"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=settings, capture_output=True, text=True)
    assert done.returncode == 2
    assert "Python 3.10.1" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "venv").exists()


def test_the_second_time_nothing_is_installed(project):
    assert ensure(project) == ["venv", "pip"]
    assert ensure(project) == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_is_installed_into_the_same_environment(project, name):
    # breaks when the file is left out of the recipe's hash
    ensure(project)
    (project / name).write_text("changed")
    assert ensure(project) == ["pip"]
    assert ensure(project) == []


def test_a_killed_installation_is_not_ready(project):
    # breaks when the stamp is written before pip has ended
    with pytest.raises(KeyboardInterrupt):
        ensure(project, pip_error=KeyboardInterrupt())
    assert ensure(project) == ["pip"]


def test_a_failed_change_takes_the_old_stamp_away(project):
    # breaks when the old stamp outlives a failed pip: putting the file back would then look ready
    ensure(project)
    (project / "pyproject.toml").write_text("changed")
    with pytest.raises(tasks.Refusal, match="pip could not install"):
        ensure(project, pip_status=1)
    (project / "pyproject.toml").write_text("[project]")
    assert ensure(project) == ["pip"]


def test_a_broken_environment_is_made_anew_with_a_message(project, capsys):
    ensure(project)
    (project / ".venv" / "bin" / "python").unlink()
    assert ensure(project) == ["venv", "pip"]
    assert "its Python is gone" in capsys.readouterr().out


def test_a_moved_folder_gets_a_new_environment(project, capsys):
    # breaks when the place is not remembered: the scripts inside still name the old folder
    ensure(project)
    moved = project.with_name("moved")
    project.rename(moved)
    assert ensure(moved) == ["venv", "pip"]
    assert "another folder" in capsys.readouterr().out


def test_a_folder_that_is_no_environment_is_left_alone(project):
    # breaks when VENV_DIR=~ would delete a home folder
    (project / ".venv").mkdir()
    (project / ".venv" / "thesis.txt").write_text("years of work")
    with pytest.raises(tasks.Refusal, match="left alone"):
        ensure(project)
    assert (project / ".venv" / "thesis.txt").exists()


def test_venv_dir_names_another_folder(project, monkeypatch, tmp_path):
    monkeypatch.setenv("VENV_DIR", str(tmp_path / "elsewhere"))
    assert tasks.Environment(project).folder == tmp_path / "elsewhere"


def test_a_missing_venv_module_names_the_package_to_install(project):
    with pytest.raises(tasks.Refusal, match=r"apt install python3\.\d+-venv"):
        ensure(project, venv_output="The virtual environment was not created because ensurepip is not available.")
    assert not (project / ".venv").exists()


@pytest.mark.parametrize(
    ("system", "machine", "gpu"), [("Linux", "x86_64", True), ("Linux", "aarch64", False), ("Darwin", "x86_64", False)]
)
def test_triton_only_where_it_is_published(project, monkeypatch, system, machine, gpu):
    monkeypatch.setattr(tasks.platform, "system", lambda: system)
    monkeypatch.setattr(tasks.platform, "machine", lambda: machine)
    assert ("gpu" in tasks.Environment(project).install_command()[-1]) is gpu


def test_a_taken_port_is_said_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "index.html").touch()
    monkeypatch.setattr(tasks, "SITE", tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert tasks.main(["serve", "--port", str(port)]) == 2
    assert f"port {port} is taken" in capsys.readouterr().err


def test_there_is_nothing_to_serve_before_a_build(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tasks, "SITE", tmp_path)
    assert tasks.main(["serve"]) == 2
    assert "make book" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1"])
def test_a_port_is_a_number(text):
    with pytest.raises(tasks.argparse.ArgumentTypeError, match="from 1 to 65535"):
        tasks.port(text)


def test_every_make_target_is_a_command_of_tasks():
    targets = (ROOT / "Makefile").read_text(encoding="utf-8").split(".PHONY:")[1].split("\n")[0].split()
    commands = set(tasks.parser()._subparsers._group_actions[0].choices)
    assert set(targets) - {"help"} == commands


def test_make_check_runs_every_step_though_one_fails(monkeypatch, capsys):
    # breaks when the first failure ends the run
    ran = []
    monkeypatch.setattr(tasks, "python", lambda *command: ran.append(command) or int("ruff" in command))
    assert tasks.main(["check"]) == 1
    assert len(ran) == 6 and "Failed: lint" in capsys.readouterr().out
