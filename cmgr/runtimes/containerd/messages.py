"""containerd's messages and calls, as far as cmgr uses them, declared by hand.

Field numbers and method paths are facts of containerd's interface, the same from 1.6 to 2.4 (its `api/` directory). No
generated code: that refuses to run with other versions of protobuf than the one it was made for. A package of our own
and a pool of our own, so that nothing else in the process can clash with it.
"""

from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

# Answers and events, as far as cmgr reads them. They are never handed on: `record` makes values of them. protobuf makes
# their classes when cmgr starts, so that only here the names and types of their fields are known to who checks types.


class Stamp(Protocol):
    """A time."""

    seconds: int
    nanos: int


class Packed(Protocol):
    """Bytes that something else understands."""

    type_url: str
    value: bytes


class Named(Protocol):
    """A thing with a name."""

    name: str


class RuntimeOfRecord(Named, Protocol):
    """The shim of a container, and the options of it."""

    options: Packed


class Record(Protocol):
    """A container, as its client made it."""

    id: str
    labels: Mapping[str, str]
    image: str
    runtime: RuntimeOfRecord
    spec: Packed
    extensions: Mapping[str, Packed]
    snapshotter: str
    snapshot_key: str
    created_at: Stamp
    updated_at: Stamp


class End(Protocol):
    """How and when a task ended."""

    exit_status: int
    exited_at: Stamp


class Process(End, Protocol):
    """A task."""

    id: str
    pid: int
    status: int
    stdout: str
    stderr: str


class TaskExit(End, Protocol):
    """The event of a process's end."""

    container_id: str
    id: str
    pid: int


class Mount(Protocol):
    """One mount of a snapshot."""

    options: MutableSequence[str]


class Descriptor(Protocol):
    """A blob of the content store."""

    digest: str


class Image(Protocol):
    """An image: a name for a blob."""

    target: Descriptor
    updated_at: Stamp


class OneImage(Protocol):
    image: Image


class Content(Protocol):
    """A part of a blob."""

    data: bytes


class Envelope(Protocol):
    """An event."""

    namespace: str
    topic: str
    event: Packed


class Stream(Protocol):
    """The events as they come."""

    def __iter__(self) -> Iterator[Envelope]: ...

    def cancel(self) -> None: ...


class OneRecord(Protocol):
    container: Record


class Records(Protocol):
    containers: Sequence[Record]


class OneTask(Protocol):
    process: Process


class Tasks(Protocol):
    tasks: Sequence[Process]


class Mounts(Protocol):
    mounts: Sequence[Mount]


class Namespaces(Protocol):
    namespaces: Sequence[Named]


class Server(Protocol):
    uuid: str


Answer = TypeVar("Answer", covariant=True)

_PACKAGE = "cmgr.ctd"

# name:number is a string; name:number:type is another type; * is a list.
_MESSAGES: Mapping[str, str] = {
    "Any": "type_url:1 value:2:bytes",
    "Empty": "",
    "Timestamp": "seconds:1:int64 nanos:2:int32",
    "FieldMask": "paths:1*",
    "Mount": "type:1 source:2 target:3 options:4*",
    "Namespace": "name:1",
    "Runtime": "name:1 options:2:Any",
    "Container": (
        "id:1 labels:2:map image:3 runtime:4:Runtime spec:5:Any snapshotter:6 snapshot_key:7 "
        "created_at:8:Timestamp updated_at:9:Timestamp extensions:10:map-of-Any"
    ),
    "Process": (
        "container_id:1 id:2 pid:3:uint32 status:4:uint32 stdin:5 stdout:6 stderr:7 terminal:8:bool "
        "exit_status:9:uint32 exited_at:10:Timestamp"
    ),
    "ById": "id:1",
    "Record": "container:1:Container",
    "Records": "containers:1:Container*",
    "Update": "container:1:Container update_mask:2:FieldMask",
    "OfContainer": "container_id:1",
    "Task": "process:1:Process",
    "Tasks": "tasks:1:Process*",
    "CreateTask": (
        "container_id:1 rootfs:3:Mount* stdin:4 stdout:5 stderr:6 terminal:7:bool options:9:Any runtime_path:10"
    ),
    "Kill": "container_id:1 exec_id:2 signal:3:uint32 all:4:bool",
    "Ended": "exit_status:1:uint32 exited_at:2:Timestamp",
    "Key": "snapshotter:1 key:2",
    "Mounts": "mounts:1:Mount*",
    "Namespaces": "namespaces:1:Namespace*",
    "Server": "uuid:1",
    "Descriptor": "media_type:1 digest:2 size:3:int64",
    "Image": "name:1 target:3:Descriptor created_at:7:Timestamp updated_at:8:Timestamp",
    "OneImage": "image:1:Image",
    "ByName": "name:1",
    "ReadContent": "digest:1 offset:2:int64 size:3:int64",
    "Content": "offset:1:int64 data:2:bytes",
    "Exec": "container_id:1 stdin:2 stdout:3 stderr:4 terminal:5:bool spec:6:Any exec_id:7",
    "OfProcess": "container_id:1 exec_id:2",
    "Filters": "filters:1*",
    "Publish": "topic:1 event:2:Any",
    "Envelope": "timestamp:1:Timestamp namespace:2 topic:3 event:4:Any",
    # Events. The first field of each that cmgr follows is the container's id.
    "Happening": "container_id:1",
    "TaskExit": "container_id:1 id:2 pid:3:uint32 exit_status:4:uint32 exited_at:5:Timestamp",
}


class Call(NamedTuple, Generic[Answer]):
    """A method, and the names of its question and its answer."""

    path: str
    question: str
    answer: str


_CONTAINERS = "/containerd.services.containers.v1.Containers"
_TASKS = "/containerd.services.tasks.v1.Tasks"
_EVENTS = "/containerd.services.events.v1.Events"

GET: Call[OneRecord] = Call(f"{_CONTAINERS}/Get", "ById", "Record")
LIST: Call[Records] = Call(f"{_CONTAINERS}/List", "Filters", "Records")
UPDATE: Call[OneRecord] = Call(f"{_CONTAINERS}/Update", "Update", "Record")
TASK: Call[OneTask] = Call(f"{_TASKS}/Get", "OfContainer", "Task")
TASKS: Call[Tasks] = Call(f"{_TASKS}/List", "Empty", "Tasks")
CREATE: Call[object] = Call(f"{_TASKS}/Create", "CreateTask", "Empty")
START: Call[object] = Call(f"{_TASKS}/Start", "OfProcess", "Empty")
DELETE: Call[object] = Call(f"{_TASKS}/Delete", "OfContainer", "Empty")
KILL: Call[object] = Call(f"{_TASKS}/Kill", "Kill", "Empty")
PAUSE: Call[object] = Call(f"{_TASKS}/Pause", "OfContainer", "Empty")
RESUME: Call[object] = Call(f"{_TASKS}/Resume", "OfContainer", "Empty")
WAIT: Call[End] = Call(f"{_TASKS}/Wait", "OfProcess", "Ended")
EXEC: Call[object] = Call(f"{_TASKS}/Exec", "Exec", "Empty")
DELETE_PROCESS: Call[object] = Call(f"{_TASKS}/DeleteProcess", "OfProcess", "Empty")
IMAGE: Call[OneImage] = Call("/containerd.services.images.v1.Images/Get", "ByName", "OneImage")
CONTENT: Call[Content] = Call("/containerd.services.content.v1.Content/Read", "ReadContent", "Content")
MOUNTS: Call[Mounts] = Call("/containerd.services.snapshots.v1.Snapshots/Mounts", "Key", "Mounts")
NAMESPACES: Call[Namespaces] = Call("/containerd.services.namespaces.v1.Namespaces/List", "Empty", "Namespaces")
SERVER: Call[Server] = Call("/containerd.services.introspection.v1.Introspection/Server", "Empty", "Server")
PUBLISH: Call[object] = Call(f"{_EVENTS}/Publish", "Publish", "Empty")
SUBSCRIBE: Call[Envelope] = Call(f"{_EVENTS}/Subscribe", "Filters", "Envelope")

_TYPES: Mapping[str, int] = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
}


def _declared() -> Mapping[str, type[Any]]:
    file = FileDescriptorProto(name="cmgr/containerd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            _declare(message, *text.removesuffix("*").split(":"), repeated=text.endswith("*"))
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


def _declare(message: Any, name: str, number: str, kind: str = "string", *, repeated: bool = False) -> None:
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if repeated or kind.startswith("map") else field.LABEL_OPTIONAL
    if kind in _TYPES:
        field.type = _TYPES[kind]
        return
    field.type = field.TYPE_MESSAGE
    field.type_name = f".{_PACKAGE}.{kind}"
    if kind.startswith("map"):  # Of strings to strings, or to another type: a list of such pairs, to protobuf.
        pair = message.nested_type.add(name=f"{name.capitalize()}Entry")
        pair.options.map_entry = True
        _declare(pair, "key", "1")
        _declare(pair, "value", "2", kind.removeprefix("map").removeprefix("-of-") or "string")
        field.type_name = f".{_PACKAGE}.{message.name}.{pair.name}"


MESSAGES = _declared()
"""Each message's class, by the name above."""
