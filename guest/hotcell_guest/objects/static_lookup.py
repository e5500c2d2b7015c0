"""Inspects objects without running user code: no `__getattr__`, no property, no `__class__`, no metaclass."""

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
# Descriptors written in C, whose value is cheap and runs no user code.
_SAFE_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def mro_of(cls: type) -> tuple[type, ...]:
    order: tuple[type, ...] = _MRO(cls)
    return order


def class_namespace(cls: type) -> Any:
    """The mapping proxy of a class, whatever its metaclass defines."""
    return _NAMESPACE(cls)


def defines_any(cls: type, names: tuple[str, ...]) -> bool:
    """Whether the class or one of its bases has one of these names."""
    for base in mro_of(cls):
        namespace = class_namespace(base)
        for name in names:
            if name in namespace:
                return True
    return False


def inherits(cls: type, base: Any) -> bool:
    """Compares by identity: `in` would compare the classes with `==`, which a metaclass can define."""
    return any(one is base for one in mro_of(cls))


def is_one_of(cls: type, plain: Container[Any]) -> bool:
    """Whether the class is one of these, which have no metaclass. `in` alone would run `__hash__` and `__eq__` of a
    metaclass.
    """
    return type(cls) is type and cls in plain


def name_of(cls: type) -> str:
    """A plain string, even if the name is an instance of a subclass of str."""
    return str.__str__(_NAME(cls))[:200]


def module_of(cls: type) -> str:
    """The module of a class; also for a class written in C, which does not have it in its namespace."""
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
            return {}  # a property with that name
        try:
            own = slot.__get__(value)
        except Exception:  # noqa: BLE001 - a descriptor of another layout
            return {}
        return own if type(own) is dict else {}
    return {}


def places_of(value: Any) -> Iterator[Any]:
    """The namespaces with the attributes of a value, in lookup order: its own, its class's and so on."""
    if is_class(value):
        for cls in mro_of(value):
            yield class_namespace(cls)
        return
    yield instance_namespace(value)
    for cls in mro_of(type(value)):
        yield class_namespace(cls)


def attribute(value: Any, name: str) -> Any:
    """The attribute, if it can be read without running code; otherwise MISSING, as for a property."""
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
        except Exception:  # noqa: BLE001 - an empty slot, or a state without a value
            return MISSING
    if is_one_of(kind, (staticmethod, classmethod, types.FunctionType)) or not _is_descriptor(found):
        return _unwrapped(found)
    return MISSING


def _unwrapped(found: Any) -> Any:
    return found.__func__ if is_one_of(type(found), (staticmethod, classmethod)) else found


def _is_descriptor(found: Any) -> bool:
    if is_one_of(type(found), (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)):
        return False  # it is the same whether bound or not
    return any("__get__" in class_namespace(cls) for cls in mro_of(type(found)))
