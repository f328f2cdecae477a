from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="MemorySource")


@_attrs_define
class MemorySource:
    """
    Attributes:
        filename (str):
        media_type (str):
        bytes_ (int):
        is_kept (bool): whether the file itself is kept, for getMemoryFile
        url (str | Unset): URL from which the server fetched it
        container (str | Unset): mem_… of the file that the file was in
        path (str | Unset): path of the file in its container
        warnings (list[str] | Unset): what was not read, and why; at most 20 sentences
    """

    filename: str
    media_type: str
    bytes_: int
    is_kept: bool
    url: str | Unset = UNSET
    container: str | Unset = UNSET
    path: str | Unset = UNSET
    warnings: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        filename = self.filename

        media_type = self.media_type

        bytes_ = self.bytes_

        is_kept = self.is_kept

        url = self.url

        container = self.container

        path = self.path

        warnings: list[str] | Unset = UNSET
        if not isinstance(self.warnings, Unset):
            warnings = self.warnings

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "filename": filename,
                "media_type": media_type,
                "bytes": bytes_,
                "is_kept": is_kept,
            }
        )
        if url is not UNSET:
            field_dict["url"] = url
        if container is not UNSET:
            field_dict["container"] = container
        if path is not UNSET:
            field_dict["path"] = path
        if warnings is not UNSET:
            field_dict["warnings"] = warnings

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        filename = d.pop("filename")

        media_type = d.pop("media_type")

        bytes_ = d.pop("bytes")

        is_kept = d.pop("is_kept")

        url = d.pop("url", UNSET)

        container = d.pop("container", UNSET)

        path = d.pop("path", UNSET)

        warnings = cast("list[str]", d.pop("warnings", UNSET))

        memory_source = cls(
            filename=filename,
            media_type=media_type,
            bytes_=bytes_,
            is_kept=is_kept,
            url=url,
            container=container,
            path=path,
            warnings=warnings,
        )

        memory_source.additional_properties = d
        return memory_source

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
