"""containerd's messages and calls, as far as cmgr uses them, declared by hand.

Field numbers and method paths are facts of containerd's interface, the same from 1.6 to 2.4 (its `api/` directory). No
generated code: that refuses to run with other versions of protobuf than the one it was made for. A package of our own
and a pool of our own, so that nothing else in the process can clash with it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

Message = Any
"""A protobuf message. What containerd sent is never handed on: `containerd_spec` makes values of it."""

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
        "created_at:8:Timestamp updated_at:9:Timestamp"
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
    "Filters": "filters:1*",
    "Version": "version:1 revision:2",
    "Publish": "topic:1 event:2:Any",
    "Envelope": "timestamp:1:Timestamp namespace:2 topic:3 event:4:Any",
    # Events. The first field of each that cmgr follows is the container's id.
    "Happening": "container_id:1",
    "TaskExit": "container_id:1 id:2 pid:3:uint32 exit_status:4:uint32 exited_at:5:Timestamp",
}


class Call(NamedTuple):
    """A method, and the types of its question and its answer."""

    path: str
    question: str
    answer: str


_CONTAINERS = "/containerd.services.containers.v1.Containers"
_TASKS = "/containerd.services.tasks.v1.Tasks"
_EVENTS = "/containerd.services.events.v1.Events"

GET = Call(f"{_CONTAINERS}/Get", "ById", "Record")
LIST = Call(f"{_CONTAINERS}/List", "Filters", "Records")
UPDATE = Call(f"{_CONTAINERS}/Update", "Update", "Record")
TASK = Call(f"{_TASKS}/Get", "OfContainer", "Task")
TASKS = Call(f"{_TASKS}/List", "Empty", "Tasks")
CREATE = Call(f"{_TASKS}/Create", "CreateTask", "Empty")
START = Call(f"{_TASKS}/Start", "OfContainer", "Empty")
DELETE = Call(f"{_TASKS}/Delete", "OfContainer", "Empty")
KILL = Call(f"{_TASKS}/Kill", "Kill", "Empty")
RESUME = Call(f"{_TASKS}/Resume", "OfContainer", "Empty")
WAIT = Call(f"{_TASKS}/Wait", "OfContainer", "Ended")
MOUNTS = Call("/containerd.services.snapshots.v1.Snapshots/Mounts", "Key", "Mounts")
NAMESPACES = Call("/containerd.services.namespaces.v1.Namespaces/List", "Empty", "Namespaces")
VERSION = Call("/containerd.services.version.v1.Version/Version", "Empty", "Version")
PUBLISH = Call(f"{_EVENTS}/Publish", "Publish", "Empty")
SUBSCRIBE = Call(f"{_EVENTS}/Subscribe", "Filters", "Envelope")

_TYPES: Mapping[str, int] = {
    "string": FieldDescriptorProto.TYPE_STRING,
    "bytes": FieldDescriptorProto.TYPE_BYTES,
    "bool": FieldDescriptorProto.TYPE_BOOL,
    "int32": FieldDescriptorProto.TYPE_INT32,
    "int64": FieldDescriptorProto.TYPE_INT64,
    "uint32": FieldDescriptorProto.TYPE_UINT32,
}


def _declared() -> Mapping[str, type[Message]]:
    file = FileDescriptorProto(name="cmgr/containerd.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split():
            _declare(message, *text.removesuffix("*").split(":"), repeated=text.endswith("*"))
    pool = DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")) for name in _MESSAGES}


def _declare(message: Message, name: str, number: str, kind: str = "string", *, repeated: bool = False) -> None:
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if repeated or kind == "map" else field.LABEL_OPTIONAL
    if kind in _TYPES:
        field.type = _TYPES[kind]
        return
    field.type = field.TYPE_MESSAGE
    field.type_name = f".{_PACKAGE}.{kind}"
    if kind == "map":  # Of strings to strings: a list of such pairs, to protobuf.
        pair = message.nested_type.add(name=f"{name.capitalize()}Entry")
        pair.options.map_entry = True
        _declare(pair, "key", "1")
        _declare(pair, "value", "2")
        field.type_name = f".{_PACKAGE}.{message.name}.{pair.name}"


MESSAGES = _declared()
"""Each message's class, by the name above."""
