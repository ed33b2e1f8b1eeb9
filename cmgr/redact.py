"""Taking secrets out of what cmgr tells: the only place that knows how they look. Pure.

A secret goes by its form (a known kind of token, the user in an address, what stands behind a name or a flag that says
so), by its place (an environment, a label of nobody known, an option of a volume), or because it looks like chance.
Ids, digests, UUIDs and serial numbers stay: hexadecimal numbers, and capitals with digits, look like chance, too, and
count as secret only in a command. A short word under a harmless name in a free text cannot be known.
"""

import json
import re
from collections.abc import Collection, Mapping

GONE = "(redacted)"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SECRET = _words(
    "auth authorization bearer cookie cookies cred credential credentials creds dsn hmac jwt license licence masterauth"
    " otp pass passcode passphrase passwd password passwords passwort psk pw pwd requirepass sas secret secrets sig"
    " signature token totp webhook"
)
_JOINED = _words(
    "password passwd secret apikey accesskey privatekey presharedkey credential authtoken accesstoken storepass keypass"
)
_KEYS = _words(
    "access account admin api app auth client crypt deploy encryption host license master priv private root secret"
    " service session shared signing ssh storage subscription x"
)
"""Of names that end in `key` those are secret that have one of these words before it."""

_ABOUT = _words(
    "algorithm count enabled endpoint expiry length limit method mode name policy provider required scheme size timeout"
    " ttl type version"
)
"""The last word of a name that is about a secret, and none."""

_SWITCHES = _words("false no none null off on true yes")
_PLACES = _words("dir directory file files path")
_WORD = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"

# Each rule is looked for only in a line that has something of it: most lines have nothing. And it is compiled only when
# it is first looked for: the service has to hear of faults before that.
_HINTS = _words("pass pw secret token key cred auth cookie jwt bearer sig sas psk otp dsn hook licen hmac")
_VALUE = (
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\\+[\"'].*?\\+[\"']|[\"'][^\"'\n]*$"
    r"|(?:(?:Bearer|Basic|Token|Digest|Negotiate)[ ]+)?[^\s\"']+(?:[\"'](?![\s,;)}\]]|$)[^\s\"']*)*"
)
_NAMED = (
    r"\b(?:name|key)[\"']?\s*[:=]\s*[\"']([\w.-]{1,100})[\"']\s*,?\s*[\"']?value[\"']?\s*[:=]\s*"
    r"|(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]{0,100})\\*[\"']?\]?\s*(?::=|=>|[=:])\s*"
    r"|(?<![\w-])(--?[A-Za-z][\w-]{0,100})\s+(?!-)|<([A-Za-z][\w.-]{0,100})>(?!<)"
)
"""A name and what separates it from its value: a pair of both, an assignment, a flag, an element."""

_HEADER = (
    r"(?i)(?<!\w)((?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]{0,40}(?:key|token|auth|secret|signature)[\w-]{0,40})"
    r"(\\*[\"']?\s*[:=]\s*\[?\s*\\*[\"']?)([^\"'\r\n\\]+(?:[\"'](?![\s,;)}\]]|$)[^\"'\r\n\\]*)*)"
)
_SAID = (
    r"(?i)\b(password|passwd|passphrase|passcode|secret|token|requirepass|masterauth|api[ _-]?key)"
    r"(\s+(?:is\s+|was\s+|to\s+)?[\"']?)((?=\S{0,200}[0-9!#$%^&*])[^\s\"':=(]{5,})"
)
_SENT = (
    r"(?i)(\b(?:password|passwd|passphrase)\b[^:=\n]{0,60}[:=]\s+[\"']?)"
    r"((?=\S{0,200}[0-9!#$%^&*])[^\s\"']{5,})(?=[\"']?(?:[;,.]\s|\s*$))"
)
"""A sentence about a password that ends with it, as programs say that they have made one."""

_BEARER = r"\b(Bearer|Basic|bearer|basic)(\s+)((?=\S{0,200}[0-9A-Z=])[A-Za-z0-9+/_=.~-]{6,})"
_ADDRESS = r"([A-Za-z0-9+.-]{1,40}://)([^\s\"'<>\\]+)"
_LOGIN = r"(?<![\w/:])([\w.+-]{1,64}:)([^\s:/@\"'=]{3,200})(?=@(?!sha[0-9])[\w(\[])"
_MARKS = r"[^\s\"'(]{0,60}[!#$%^&*]"
_SORTS = "".join(rf"(?=[^\s\"']{{0,60}}[{sort}])" for sort in ("a-z", "A-Z", "0-9"))
_TYPED = rf"(?<![^\s\"'=:,;(])(?={_MARKS}{_MARKS}){_SORTS}[^\s\"'(){{}}<>]{{12,}}"
"""As programs make passwords for people: letters, digits and at least two marks that stand in no name."""

_PEM = r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----).*?(-----END|\Z)"
_MARK = "[!#$%^&*]"
_CRYPT = r"(?<!\w)\$[0-9a-z][0-9a-z-]{0,20}\$[\w./$=,+]{16,}"
_KNOWN = (
    "gh[pousr]_|github_pat_|glpat-|hf_|[srp]k-|xox[a-z]-|A(KIA|SIA)[A-Z0-9]{16}|AIza|npm_|pypi-|dckr_pat_|nvapi-|dop_v1_"
    "|hvs|eyJ|AGE-SECRET-KEY-|do[or]_v1_|shp(at|ss|ca)_|pplx-|sbp_|glsa_|tskey-|PMAK-|GOCSPX-|[rs]k_(live|test)_|whsec_"
)
_LONG = r"(?<![\w+/=~-])(?:(?:sha[0-9]{3}|SHA[0-9]{3})[:-])?[A-Za-z0-9+/_=~-]{16,}"
_ALNUM = r"[A-Za-z0-9]+"
_HEX = r"(?:0x)?[0-9a-f]+|(?:0x)?[0-9A-F]+"
_CHANCE = 2.9
"""Of words and numbers as people write them one has more letters on average; a mixture by chance has fewer than two."""

_PAIRS = _words(
    "ab ac ad ag ai al am an ap ar as at ba be bo ce ch ci ck co ct da de di do du ea ec ed ee el em en er es et ev fi"
    " fo ge gh gr ha he hi ho ic id ie il im in io ir is it iv ke la le li ll lo ly ma me mi mo na nc nd ne ng ni no nt"
    " ob oc od of ol om on op or os ot ou ow pa pe pl po pr ra rd re ri ro rs rt ru se sh si so sp ss st su ta te th ti"
    " to tr ts ul un up ur us ut ve vi wa we wi"
)
_SPOKEN = 0.42
"""Of the pairs of letters in words more than this are such pairs; by chance a quarter are."""


def is_secret(name: str, value: str = "") -> bool:
    """Return whether a value under this name is secret by it. Of a file that has a secret the path is none."""
    words = [word.lower() for word in re.findall(_WORD, name)]
    if not words or words[-1] in _ABOUT or (words[-1] in _PLACES and (not value or "/" in value)):
        return False
    if value.lower() in _SWITCHES or (words[-1] in ("token", "sig") and value.isdigit() and len(value) < 6):
        return False  # Whether, how many, or which: `token: 512`.
    joined = "".join(words)
    if "tokens" in words or "tokenizer" in joined:
        words = [word for word in words if word not in ("auth", "token")]
    key = len(words) > 1 and words[-1] in ("key", "keys") and not _KEYS.isdisjoint(words[:-1])
    return key or not _SECRET.isdisjoint(words) or any(each in joined for each in _JOINED)


def text(told: str) -> str:
    """Return the text, of one line or many, without the secrets in it."""
    if len(told) < 6:
        return told
    if "PRIVATE KEY" in told:
        told = re.sub(_PEM, rf"\1{GONE}\2", told)
    # Line by line: a search through a large text would keep other threads from running.
    return "".join(_line(line) for line in told.splitlines(keepends=True))


def data(told: bytes) -> bytes:
    """Return lines of any text, or what is none, without the secrets in it."""
    return text(told.decode("latin-1")).encode("latin-1")


def address(url: str) -> str:
    """Return of an address who is spoken to: its path, too, may be a secret."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split('[/?#]', rest, maxsplit=1)[0].rpartition('@')[2]}"


def addresses(told: str) -> str:
    """Return `text`, and no more of the addresses in it than `address` tells."""
    return text(re.sub(_ADDRESS, lambda found: address(found[0]) + ("/…" if "/" in found[2] else ""), told))


def plain(value: object, name: str = "") -> object:
    """Return a JSON value of cmgr's own without its secrets; `name` is the key that it stands under."""
    if isinstance(value, Mapping):
        return {text(str(key)): plain(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if isinstance(value, str) and value:
        return GONE if is_secret(name, value) else text(value)
    return value


def command(words: list[str]) -> list[str]:
    """Return the words of a command, some of which may be a shell's text, without secrets."""
    return [_word(word, words[max(0, place - _BEFORE) : place]) for place, word in enumerate(words)]


def document(value: object, kept: Collection[str]) -> object:
    """Return what a runtime says of a container without its secrets.

    Of variables only those of the names in `kept` have their values, of labels those that begin with one, too.
    """
    return _inspected(value, "", kept)


def _line(line: str) -> str:
    if "://" in line:
        line = re.sub(_ADDRESS, _without_user, line)
    if "@" in line:
        line = re.sub(_LOGIN, rf"\1{GONE}", line)
    low = line.lower()
    if any(hint in low for hint in _HINTS):
        line = re.sub(_HEADER, rf"\1\2{GONE}", line)
        line = _without_named(line)
        line = re.sub(_SENT, rf"\1{GONE}", re.sub(_SAID, rf"\1\2{GONE}", line))
    if "bearer " in low or "basic " in low:
        line = re.sub(_BEARER, rf"\1\2{GONE}", line)
    if re.search(_MARK, line):
        line = re.sub(_TYPED, GONE, re.sub(_CRYPT, GONE, line))
    return re.sub(_LONG, _by_chance, line)


def _without_user(found: re.Match[str]) -> str:
    scheme, rest = found.groups()
    head = re.match("[^/?#]*", rest)
    assert head is not None
    _, colon, behind = head[0].partition(":")
    # A password may have a slash in it, although it must not.
    until = rest.rfind("@") if colon and not re.fullmatch("[0-9]{0,5}", behind) else head[0].rfind("@")
    if until >= 0:
        rest = f"{GONE}@{rest[until + 1 :]}"
    return scheme + re.sub(r"([?#])[^?#]*=.*", rf"\1{GONE}", rest)


def _without_named(line: str) -> str:
    told, at = "", 0
    for named in re.finditer(_NAMED, line):
        value = re.compile(_VALUE).match(line, named.end()) if named.start() >= at else None
        # `//` follows the colon of an address.
        if value is None or value[0].startswith("//") or GONE in value[0]:
            continue
        bare, name = value[0].strip("\"'\\,;}]"), named[named.lastindex or 0]
        if bare and not _tells_of_place(line, named) and is_secret(name, bare):
            mark = re.match(r"\\*[\"']", value[0])
            quote = mark[0] if mark else ""
            told, at = f"{told}{line[at : value.start()]}{quote}{GONE}{quote}", value.end()
    return told + line[at:]


def _tells_of_place(line: str, named: re.Match[str]) -> bool:
    """Return whether a sentence about a file follows: `cannot read /etc/token: its mode`, `password_file: either`."""
    is_path = line.endswith("/", 0, named.start()) or named[0].rstrip(": ").endswith(tuple(_PLACES))
    return is_path and named[0].endswith(": ")


def _by_chance(found: re.Match[str]) -> str:
    word = found[0]
    if re.match("sha[0-9]{3}[:-]", word, re.IGNORECASE):
        return word
    if re.match(_KNOWN, word):
        return GONE
    if any(map(_is_chance, re.findall(_ALNUM, word))) or any(map(_is_token, word.split("/"))):
        return GONE
    return GONE if word[0] != "/" and _is_token(word) else word


def _is_token(word: str) -> bool:
    """Return whether this looks like chance in which `-`, `_`, `+` and `/` are letters: few of them, far apart."""
    parts = [part for part in re.findall(_ALNUM, word) if not re.fullmatch(_HEX, part)]
    whole = "".join(parts)
    if len(whole) < 16 or len(whole) < 5 * len(parts) or _kinds(whole) < 3:
        return False
    return _mean(parts) < _CHANCE - 0.6 or _spoken(parts) < _SPOKEN


def _is_chance(part: str) -> bool:
    if len(part) < 16 or len(set(part)) < 8 or re.fullmatch(_HEX, part):
        return False
    one = [part]
    if part != part.upper() and part != part.lower():
        return _mean(one) < _CHANCE or _spoken(one) < _SPOKEN
    # Serial numbers have capitals and digits; a node of a swarm has 25 small letters and digits.
    if len(part) < (20 if part != part.upper() else 30) or len(part) == 25:
        return False
    return _mean(one) < 3 or _spoken(one) < _SPOKEN


def _kinds(text: str) -> int:
    return sum(any(map(kind, text)) for kind in (str.islower, str.isupper, str.isdigit))


def _mean(parts: list[str]) -> float:
    """Return how many letters a word or number in it has on average."""
    return sum(map(len, parts)) / sum(len(re.findall(_WORD, part)) for part in parts)


def _spoken(parts: list[str]) -> float:
    """Return which share of the pairs of letters in it are pairs that words have, too."""
    pairs = [part[at : at + 2].lower() for part in parts for at in range(len(part) - 1) if part[at : at + 2].isalpha()]
    return sum(pair in _PAIRS for pair in pairs) / len(pairs) if len(pairs) >= 10 else 1.0


# Of commands.

_ASSIGNED = rf"(?<![\w-])([A-Z][A-Z0-9_]+=)({_VALUE})"
_EXPORTED = rf"(\b(?:export|declare -x|setenv|env|set)\s+\w{{1,100}}[= ]|(?:^|\s)(?:-e|--env)[ =]\w+=)({_VALUE})"
_HEXED = r"(?<![\w:-])[0-9A-Fa-f]{24,}(?![\w-])|(?<![\w:-])[A-Z2-7]{26,}(?![\w-])"
_WITH_USER = (
    r"((?:^|\s)(?:-u|-U|-a|--user|--auth|--proxy-user)[ =]?[\"']?[\w.@\\-]*[:,%]|\bsqlplus\s+(?:-\S+\s+)*\w+/)"
    r"(?![0-9]+(?:\s|$)|//)[^\s\"']+"
)
_WITH_FLAG = (
    r"((?:\b(?:sshpass|mysql\w*|mariadb\w*|mongo\w*|redis-cli|login|ldap\w+|mosquitto_\w+|(?:un)?zip|7z|openssl|ipmitool"
    r"|smbclient|sqlcmd|cqlsh|rabbitmqadmin)\b(?:\s+\S+){0,30}?\s+(?:-[pPawk]|-pass(?:in|out)?)"
    r"|\bsnmp\w+\b(?:\s+\S+){0,30}?\s+-[cAX])[ ]?)(?!-)\S+"
)
_TO_THE_END = (
    r"((?:(?:\bhtpasswd|\badd_user|\bchange_password|\bAUTH|\b(?i:identified\s+(?:with\s+\S+\s+)?by))\s+|<<<\s*)[\"']?)"
    r"(?![\"'])[^|;&\n]+"
)
"""Words behind which secrets stand that no flag marks: all goes up to the end of that command."""

_PIPED = r"((?:^|[|;&\n])\s*\w+\s)[^|;&\n]+(?=\|\s*(?:\w+\s+)?chpasswd\b)"
_BEFORE = 12
"""So many words before one say what it is."""


def shell(word: str) -> str:
    """Return a command of a shell, or a word of it, without the secrets in it: of variables no value is told."""
    for secret in (_EXPORTED, _ASSIGNED, _WITH_USER, _WITH_FLAG, _TO_THE_END, _PIPED):
        word = re.sub(secret, rf"\1{GONE}", word)
    return re.sub(_HEXED, GONE, text(word))


def _word(word: str, before: list[str]) -> str:
    """Return a word of a command as it is told behind those before it."""
    known = " ".join(each for each in before if len(each) < 100)
    if not any(map(str.isspace, word)):
        return shell(f"{known} {word}").rpartition(" ")[2]
    # A text of many words goes where any single one would.
    single = "me:word" if ":" in word else "word"
    return GONE if shell(f"{known} {single}").endswith(GONE) else shell(word)


# Of documents.

_COMMANDS = frozenset({"args", "cmd", "command", "entrypoint", "test"})
_VARIABLES = frozenset({"env", "environment"})
_LABELS = frozenset({"labels", "annotations"})
_OPTIONS = frozenset({"options", "driveropts", "driver_opts", "storageopt", "o"})
_HARMLESS = _words(
    "compress device devices gid labels max-buffer-size max-file max-size mode nr_inodes size tag type uid vers"
)
"""Options that tell what a volume or a log is, and none of its secrets."""

_OURS = (
    "cmgr.", "com.docker.", "io.containerd.", "io.kubernetes.", "io.podman.", "nerdctl/",
    "org.opencontainers.", "containerd.io/", "desktop.docker.io/", "kubernetes.io/", "io.cri-containerd",
)  # fmt: skip
"""Labels of these names are read by programs that cmgr knows: what they say is what a diagnosis is about."""


def _inspected(value: object, name: str, kept: Collection[str]) -> object:
    place = name.lower()
    if place in _VARIABLES:
        return _variables(value, kept)
    if place in _COMMANDS and isinstance(value, str | list | tuple):
        return _commanded(value, kept)
    if isinstance(value, Mapping):
        return {text(str(key)): _under(str(key), inner, place, value, kept) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [
            _option(item) if place in _OPTIONS and isinstance(item, str) else _inspected(item, name, kept)
            for item in value
        ]
    if not isinstance(value, str) or not value:
        return value
    if place == "output" or is_secret(name, value):
        return GONE  # The output is a health check's: the words of the container.
    return ",".join(map(_option, value.split(","))) if place in _OPTIONS else text(value)


def _under(key: str, value: object, place: str, around: Mapping[object, object], kept: Collection[str]) -> object:
    """Return what stands under a key of a mapping that stands at such a place."""
    if not isinstance(value, str) or not value:
        return _inspected(value, "logoptions" if key == "Config" and "Type" in around else key, kept)
    if place in _LABELS:
        return _label(key, value, kept)
    if (place in _OPTIONS or place == "logoptions") and key != "o":
        return text(value) if key.lower() in _HARMLESS else GONE
    if key == "value" and "name" in around:
        return value if around["name"] in kept else GONE  # A variable, as Kubernetes writes it.
    return _inspected(value, key, kept)


def _label(name: str, value: str, kept: Collection[str]) -> str:
    if not name.startswith((*_OURS, *kept)) and not re.match(r"[\w.-]+\.(?:docker|kubernetes)\.(?:io|com)/", name):
        return GONE
    if name.startswith("cmgr.before"):
        return shell(value)
    if is_secret(name, value):
        return GONE
    try:
        told = json.loads(value) if value[0] in "[{" else None
    except (ValueError, RecursionError):
        told = None
    return text(value) if told is None else json.dumps(_inspected(told, "", kept))


def _option(item: str) -> str:
    name, equals, value = item.partition("=")
    return f"{name}={GONE}" if equals and value and name.lower() not in _HARMLESS else text(item)


def _variables(value: object, kept: Collection[str]) -> object:
    if isinstance(value, Mapping):
        return {str(key): inner if key in kept or not inner else GONE for key, inner in value.items()}
    if not isinstance(value, list | tuple):
        return value if value is None else GONE
    return [_variable(item, kept) for item in value]


def _variable(item: object, kept: Collection[str]) -> object:
    if isinstance(item, Mapping):
        return _inspected(item, "", kept)
    if not isinstance(item, str):
        return GONE
    name, equals, value = item.partition("=")
    return item if name in kept or not value else f"{name}{equals}{GONE}"


def _commanded(value: object, kept: Collection[str]) -> object:
    if isinstance(value, str):
        return shell(value)
    assert isinstance(value, list | tuple)
    if all(isinstance(item, str) for item in value):
        return command(list(value))
    return [shell(item) if isinstance(item, str) else _inspected(item, "", kept) for item in value]
