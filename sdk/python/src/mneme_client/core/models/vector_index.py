from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.vector_index_active import VectorIndexActive, check_vector_index_active
from ..models.vector_index_setting import VectorIndexSetting, check_vector_index_setting

if TYPE_CHECKING:
    from ..models.vector_index_build_type_0 import VectorIndexBuildType0


T = TypeVar("T", bound="VectorIndex")


@_attrs_define
class VectorIndex:
    """
    Attributes:
        setting (VectorIndexSetting):
        active (VectorIndexActive): what answers searches at the moment; narrow filters are always scanned
        build (None | VectorIndexBuildType0): the graph that is being built, or could not be built; null: neither
    """

    setting: VectorIndexSetting
    active: VectorIndexActive
    build: None | VectorIndexBuildType0
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.vector_index_build_type_0 import VectorIndexBuildType0  # noqa: PLC0415

        setting: str = self.setting

        active: str = self.active

        build: dict[str, Any] | None
        if isinstance(self.build, VectorIndexBuildType0):
            build = self.build.to_dict()
        else:
            build = self.build

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "setting": setting,
                "active": active,
                "build": build,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.vector_index_build_type_0 import VectorIndexBuildType0  # noqa: PLC0415

        d = dict(src_dict)
        setting = check_vector_index_setting(d.pop("setting"))

        active = check_vector_index_active(d.pop("active"))

        def _parse_build(data: object) -> None | VectorIndexBuildType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                build_type_0 = VectorIndexBuildType0.from_dict(data)

                return build_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("None | VectorIndexBuildType0", data)

        build = _parse_build(d.pop("build"))

        vector_index = cls(
            setting=setting,
            active=active,
            build=build,
        )

        vector_index.additional_properties = d
        return vector_index

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
