"""Table of which program and subcommand does what, for `mnemic.algorithms.steps.shell`."""

from __future__ import annotations


def _table(text: str) -> dict[str, str]:
    """Each word of a line to what stands before the line's first ``=``."""
    lines = (line.partition("=") for line in text.strip().splitlines())
    return {word: meaning.strip() for meaning, _, words in lines for word in words.split()}


_MOST_TELLING = """
test build lint push commit install edit format merge rebase revert reset switch delete move fetch run search inspect
read list via
"""
ACTION_PRIORITY = {action: rank for rank, action in enumerate(_MOST_TELLING.split())}
"""Of several commands in one line the first of these is what the line is for: how the line ends tells most of it."""

SHELL_BUILTINS = _table("""
silent = alias break cd continue declare done echo esac exit export false fi function local popd printf pushd pwd read
silent = return select set shift shopt sleep source test trap true type ulimit umask unalias unset wait which . : [ [[ }
loop = for case
leading = ! do elif else if then time until while {
wrapper = builtin command doas env exec nice nohup setsid stdbuf sudo timeout xargs xvfb-run
shell = bash sh zsh dash fish ksh
""")
_DOCKER = """
-e --env --env-file -w --workdir -u --user -v --volume --mount -p --publish --name --network --entrypoint --platform
-l --label -m --memory --cpus --gpus --add-host --shm-size -f --file --project-name --profile --project-directory
"""
OPTIONS_WITH_VALUE: dict[str, tuple[str, ...]] = {
    program: tuple(options.split())
    for programs, options in (
        ("sudo doas", "-u -g"),
        ("nice", "-n"),
        ("timeout", "-s -k"),
        ("env", "-u -C"),
        ("git", "-C -c"),
        ("python", "-X -W"),
        ("cargo", "-p --package -F --features --target --manifest-path --profile"),
        ("make gmake", "-C -f -I -o -W"),
        ("npm", "--prefix -w --workspace"),
        ("pnpm", "-C --dir -F --filter"),
        ("yarn bun", "--cwd"),
        ("docker docker-compose podman podman-compose nerdctl", _DOCKER),
        ("kubectl oc", "-n --namespace -c --container --context"),
        ("ssh", "-p -i -l -o -F -J -L -R -D -b -c -E -m -S -W"),
    )
    for program in programs.split()
}
"""Options that are followed by a word of their own."""
RUNNERS = _table("""
run exec = uv poetry pipenv pdm hatch rye conda mamba bundle
exec dlx x = pnpm yarn npm
= npx bunx uvx pnpx
""")
"""Programs that run the program named after one of these words, or named first."""
REMOTE_RUNNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("docker", "docker-compose", "podman", "podman-compose", "nerdctl"), ("exec", "run")),
    **dict.fromkeys(("kubectl", "oc", "direnv"), ("exec",)),
    "ssh": (),
}
"""Programs that have another one run somewhere else: after one of these words, if there are any, they name where."""
VIA = "via"
"""What such a program does: it only leads to what the line is for."""

PROGRAMS = _table("""
test = ava behave ctest cypress jest karma mocha nose2 nosetests nox phpunit playwright pytest
test = rspec tap tox unittest vitest
build = cmake esbuild gcc g++ clang javac ninja rollup rustc scons tsc vite webpack
lint = ansible-lint bandit eslint flake8 golangci-lint hadolint mypy pre-commit pylint pyright rubocop shellcheck
lint = stylelint tflint ty yamllint
format = autopep8 black clang-format gofmt isort prettier rustfmt shfmt yapf
edit = apply_patch applypatch ed patch
read = awk bat cat cut diff file head jq less more nl sed sort stat tac tail uniq view wc xxd yq
search = ack ag egrep fd fgrep find grep locate rg
list = df du ls tree
fetch = curl http wget xh
move = cp install ln mkdir mv rsync touch
delete = rm rmdir unlink
""")
SCRIPT_ACTIONS = _table("""
test = check e2e spec t test verify
build = assemble build compile package
lint = analyze clippy lint typecheck vet
format = fmt format
""")
"""What projects name their scripts and targets, and programs their commands."""
INSTALL_SUBCOMMANDS = dict.fromkeys(("add", "ci", "get", "i", "install", "sync", "update", "upgrade"), "install")
_GIT = _table("""
inspect = blame diff log ls-files ls-tree reflog remote rev-list rev-parse shortlog show status
switch = bisect branch checkout stash switch tag worktree
merge = am cherry-pick merge pull
fetch = clone fetch ls-remote submodule
commit = commit
push = push
rebase = rebase
revert = restore revert
reset = reset
move = add mv
delete = clean rm
edit = apply
search = grep
""")
_FAMILIES: tuple[tuple[str, dict[str, str]], ...] = (
    ("git", _GIT),
    ("cargo", {**SCRIPT_ACTIONS, **INSTALL_SUBCOMMANDS, "check": "build", "nextest": "test"}),
    ("go", {**SCRIPT_ACTIONS, **INSTALL_SUBCOMMANDS, "mod": "install"}),
    ("ruff biome", {"check": "lint", "lint": "lint", "ci": "lint", "format": "format"}),
    ("gh glab", {"pr": "inspect", "issue": "inspect", "run": "inspect"}),
    ("npm pnpm yarn bun", {**SCRIPT_ACTIONS, **INSTALL_SUBCOMMANDS}),
    ("dotnet swift mix deno flutter dart zig rails", {**SCRIPT_ACTIONS, **INSTALL_SUBCOMMANDS}),
    ("docker podman docker-compose", {"build": "build", "pull": "fetch", "push": "push"}),
    ("manage.py setup.py", SCRIPT_ACTIONS),
    (
        "pip pip3 uv poetry pipenv conda mamba apt apt-get apk brew dnf gem",
        {**INSTALL_SUBCOMMANDS, "build": "build", "pip": "install"},
    ),
    ("bundle composer pipx rustup yum pacman", INSTALL_SUBCOMMANDS),
)
SUBCOMMANDS = {program: commands for programs, commands in _FAMILIES for program in programs.split()}
"""Of programs that do several things, what the first argument stands for."""
BUILD_TOOLS = (
    "make",
    "gmake",
    "just",
    "mage",
    "bazel",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "sbt",
    "rake",
    "invoke",
    "task",
)
"""Programs that make what a project has named; with no name, or one that says nothing, they build."""
SCRIPT_RUNNERS = ("npm", "pnpm", "yarn", "bun")
