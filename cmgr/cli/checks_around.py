"""What `cmgr check` looks at around recoveries: receivers of alarms, hooks, bundles."""

from collections.abc import Iterator

from cmgr.cli.check.checks import ERROR, OK, WARNING, Finding, of_error
from cmgr.config import files
from cmgr.config.settings import Config
from cmgr.errors import ConfigError
from cmgr.service.extras import hook_files


def findings(config: Config) -> Iterator[Finding]:
    """Yield what is found. Nothing is sent, and no hook is run."""
    yield from _receivers(config)
    yield from _hooks(config.hooks.dir)


def _receivers(config: Config) -> Iterator[Finding]:
    for receiver in config.alarms.receivers:
        what = f"alarms {receiver.format}"
        try:
            if receiver.token_file and not files.read(receiver.token_file).strip():
                yield Finding(what, ERROR, f"{receiver.token_file} is empty", "write the token into it")
                continue
        except ConfigError as error:
            yield of_error(what, error)
            continue
        # Its path may be a secret.
        named = "/".join(receiver.url.split("/")[:3])
        if receiver.token_file and named.startswith("http:"):
            yield Finding(what, WARNING, f"the token goes to {named} unencrypted", "use https")
        else:
            yield Finding(what, OK, f"{named} is told of {', '.join(receiver.events)}")


def _hooks(directory: str) -> Iterator[Finding]:
    if not directory:
        return
    for hook in hook_files.HOOKS:
        for path in hook_files.commands(directory, hook):
            why = hook_files.objection(path, directory)
            if not hook_files.is_enabled(path):
                hint = f"chmod u+x {path}, or remove it"
                yield Finding(f"hook {hook}", WARNING, f"{path} is not executable, and so not run", hint)
            elif why:
                text, _, hint = why.partition(": ")
                yield Finding(f"hook {hook}", ERROR, f"{path} is not run: {text}", hint)
            else:
                yield Finding(f"hook {hook}", OK, f"{path}")
    for name in hook_files.strangers(directory):
        hint = f"the hooks are {', '.join(hook_files.HOOKS)}, and files in NAME.d"
        yield Finding("hooks", WARNING, f"{directory}/{name} is no hook's name: it is never run", hint)
