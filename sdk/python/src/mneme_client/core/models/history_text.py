from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.actor import Actor


T = TypeVar("T", bound="HistoryText")


@_attrs_define
class HistoryText:
    """
    Attributes:
        kind (Literal['text']):
        version (int): number among the texts of the memory
        content (str):
        from_ (datetime.datetime): ISO 8601, UTC
        until (datetime.datetime | None): when it was replaced; null: it is the current one
        by (Actor):
    """

    kind: Literal["text"]
    version: int
    content: str
    from_: datetime.datetime
    until: datetime.datetime | None
    by: Actor
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind

        version = self.version

        content = self.content

        from_ = self.from_.isoformat()

        until: None | str
        if isinstance(self.until, datetime.datetime):
            until = self.until.isoformat()
        else:
            until = self.until

        by = self.by.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "version": version,
                "content": content,
                "from": from_,
                "until": until,
                "by": by,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415

        d = dict(src_dict)
        kind = cast("Literal['text']", d.pop("kind"))
        if kind != "text":
            raise ValueError(f"kind must match const 'text', got '{kind}'")

        version = d.pop("version")

        content = d.pop("content")

        from_ = datetime.datetime.fromisoformat(d.pop("from").replace("Z", "+00:00"))

        def _parse_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                until_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        until = _parse_until(d.pop("until"))

        by = Actor.from_dict(d.pop("by"))

        history_text = cls(
            kind=kind,
            version=version,
            content=content,
            from_=from_,
            until=until,
            by=by,
        )

        history_text.additional_properties = d
        return history_text

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
