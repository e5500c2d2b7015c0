"""Looks into objects without running a line of the user's code: no `__getattr__`, no property, no `__class__`, no metaclass."""

from __future__ import annotations

import types
from typing import Any, Container, Iterator

_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_MODULE: Any = types.ModuleType
_MODULE_NAMESPACE = _MODULE.__dict__["__dict__"].__get__
_MODULE_OF = type.__dict__["__module__"].__get__
_NAME = type.__dict__["__name__"].__get__

MISSING: Any = object()
# Descriptors written in C whose value costs nothing and runs nothing of the user's.
_SAFE_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def mro_of(cls: type) -> tuple[type, ...]:
    order: tuple[type, ...] = _MRO(cls)
    return order


def class_namespace(cls: type) -> Any:
    """The mapping proxy of a class, whatever its metaclass says."""
    return _NAMESPACE(cls)


def defines_any(cls: type, names: tuple[str, ...]) -> bool:
    """Whether the class or one that it inherits from has one of these names."""
    for base in mro_of(cls):
        namespace = class_namespace(base)
        for name in names:
            if name in namespace:
                return True
    return False


def inherits(cls: type, base: Any) -> bool:
    """By identity: `in` would compare the classes with `==`, which is a metaclass's to define."""
    return any(one is base for one in mro_of(cls))


def is_one_of(cls: type, plain: Container[Any]) -> bool:
    """Whether it is one of these, which have no metaclass of their own. `in` alone would run a metaclass's `__hash__` and `__eq__`."""
    return type(cls) is type and cls in plain


def name_of(cls: type) -> str:
    """A plain string even where the name is an instance of a subclass of str."""
    return str.__str__(_NAME(cls))[:200]


def module_of(cls: type) -> str:
    """Of a class written in C too, which does not have it in its namespace."""
    try:
        module = _MODULE_OF(cls)
    except AttributeError:
        return ""
    return module[:200] if type(module) is str else ""


def is_class(value: Any) -> bool:
    return inherits(type(value), type)


def instance_namespace(value: Any) -> dict[Any, Any]:
    """The object's own `__dict__`, or an empty one."""
    if inherits(type(value), types.ModuleType):
        own = _MODULE_NAMESPACE(value)
        return own if type(own) is dict else {}
    for cls in mro_of(type(value)):
        slot = class_namespace(cls).get("__dict__", MISSING)
        if slot is MISSING:
            continue
        if type(slot) is not types.GetSetDescriptorType:
            return {}  # a property of that name
        try:
            own = slot.__get__(value)
        except Exception:  # noqa: BLE001 - a descriptor of another layout
            return {}
        return own if type(own) is dict else {}
    return {}


def places_of(value: Any) -> Iterator[Any]:
    """The namespaces in which the attributes of a value lie, first found first: its own, its class's and so on."""
    if is_class(value):
        for cls in mro_of(value):
            yield class_namespace(cls)
        return
    yield instance_namespace(value)
    for cls in mro_of(type(value)):
        yield class_namespace(cls)


def attribute(value: Any, name: str) -> Any:
    """The attribute as far as it can be had without running anything; MISSING where it cannot, as for a property."""
    found = MISSING
    for place in places_of(value):
        found = place.get(name, MISSING)
        if found is not MISSING:
            break
    kind = type(found)
    if found is MISSING or is_class(value):
        return _unwrapped(found)
    if is_one_of(kind, _SAFE_DESCRIPTORS) and not inherits(type(value), types.ModuleType):
        try:
            return found.__get__(value)
        except Exception:  # noqa: BLE001 - a slot that is empty, a state that has no value
            return MISSING
    if is_one_of(kind, (staticmethod, classmethod, types.FunctionType)) or not _is_descriptor(found):
        return _unwrapped(found)
    return MISSING


def _unwrapped(found: Any) -> Any:
    return found.__func__ if is_one_of(type(found), (staticmethod, classmethod)) else found


def _is_descriptor(found: Any) -> bool:
    if is_one_of(type(found), (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        return False  # bound or not, it is what it is
    return any("__get__" in class_namespace(cls) for cls in mro_of(type(found)))
