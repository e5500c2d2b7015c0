"""Attributes are found without a line of the user's code."""

from __future__ import annotations

import math
import types
from typing import Any, NoReturn

import pytest

from hotcell_guest.objects.static_lookup import (
    MISSING,
    attribute,
    defines_any,
    instance_namespace,
    is_class,
    module_of,
    mro_of,
    name_of,
    places_of,
)


def _fail(*_arguments: Any) -> NoReturn:
    raise AssertionError("code of the user was run")


class _Base:
    of_base = 1
    both = "base"

    def method(self) -> None: ...
    @staticmethod
    def static() -> None: ...
    @property
    def computed(self) -> NoReturn:
        _fail()


class _Slots:
    __slots__ = ("empty", "full")

    def __init__(self) -> None:
        self.full = 3


def _hostile() -> Any:
    """Made anew and in a function: pytest looks at what lies in a module."""

    class HostileMeta(type):
        __getattribute__ = _fail
        __instancecheck__ = __subclasscheck__ = __eq__ = __hash__ = __repr__ = _fail

    class Hostile(_Base, metaclass=HostileMeta):
        both = "derived"
        __getattribute__ = __getattr__ = __dir__ = __repr__ = __eq__ = __hash__ = _fail
        __class__ = property(_fail)

    value = object.__new__(Hostile)
    object.__setattr__(value, "own", 2)
    return value


@pytest.mark.parametrize(
    ("name", "expected"),
    [("own", 2), ("of_base", 1), ("both", "derived"), ("computed", MISSING), ("absent", MISSING)],
)
def test_attributes_of_a_hostile_object(name: str, expected: Any) -> None:
    assert attribute(_hostile(), name) is expected


def test_methods_are_found_as_functions() -> None:
    assert attribute(_hostile(), "method") is _Base.__dict__["method"]
    assert attribute(_hostile(), "static") is _Base.static
    assert attribute([], "append") is list.__dict__["append"]


def test_attributes_of_a_hostile_class() -> None:
    kind = type(_hostile())
    assert attribute(kind, "both") == "derived"
    assert [cls is other for cls, other in zip(mro_of(kind), (kind, _Base, object))] == [True, True, True]
    assert name_of(kind) == "Hostile"
    assert module_of(kind) == __name__


def test_a_class_is_known_whatever_it_says() -> None:
    value = _hostile()
    found = [is_class(one) for one in (int, type(value), type(type(value)), 1, value)]
    assert found == [True, True, True, False, False]


def test_slots_give_their_value_and_an_empty_one_none() -> None:
    assert attribute(_Slots(), "full") == 3
    assert attribute(_Slots(), "empty") is MISSING
    assert instance_namespace(_Slots()) == {}


def test_a_property_called_dict_is_not_asked() -> None:
    class Odd:
        __dict__ = property(_fail)

    assert instance_namespace(Odd()) == {}


def test_a_module_has_its_names_and_a_subclass_of_one_too() -> None:
    class Lazy(types.ModuleType):
        __getattr__ = _fail

    lazy = Lazy("lazy")
    lazy.__dict__["x"] = 1
    assert attribute(lazy, "x") == 1
    assert attribute(math, "pi") == math.pi
    assert attribute(math, "absent") is MISSING


def test_names_that_are_no_plain_texts_are_made_plain() -> None:
    class Text(str):
        __str__ = __getitem__ = _fail

    kind = type("x", (), {"__module__": Text("m")})
    kind.__name__ = Text("n")
    assert type(name_of(kind)) is str
    assert name_of(kind) == "n"
    assert module_of(kind) == ""
    assert len(name_of(type("n" * 1_000, (), {}))) == 200


def test_inherited_names_are_defined_and_those_of_an_instance_are_not() -> None:
    assert defines_any(type(_hostile()), ("absent", "of_base"))
    assert not defines_any(type(_hostile()), ("own",))
    assert [place.get("both", MISSING) for place in places_of(_hostile())][:3] == [MISSING, "derived", "base"]
