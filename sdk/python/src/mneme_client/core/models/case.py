from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.case_mode_type_0 import CaseModeType0, check_case_mode_type_0

if TYPE_CHECKING:
    from ..models.case_expected import CaseExpected


T = TypeVar("T", bound="Case")


@_attrs_define
class Case:
    """
    Attributes:
        id (str): case_…
        query (str):
        user_id (None | str):
        mode (CaseModeType0 | None):
        expected (CaseExpected):
        created_at (datetime.datetime): ISO 8601, UTC; runs ask the question as of this time
    """

    id: str
    query: str
    user_id: None | str
    mode: CaseModeType0 | None
    expected: CaseExpected
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        query = self.query

        user_id: None | str
        user_id = self.user_id

        mode: None | str
        if isinstance(self.mode, str):
            mode = self.mode
        else:
            mode = self.mode

        expected = self.expected.to_dict()

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "query": query,
                "userId": user_id,
                "mode": mode,
                "expected": expected,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.case_expected import CaseExpected  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        query = d.pop("query")

        def _parse_user_id(data: object) -> None | str:
            if data is None:
                return data
            return cast("None | str", data)

        user_id = _parse_user_id(d.pop("userId"))

        def _parse_mode(data: object) -> CaseModeType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                mode_type_0 = check_case_mode_type_0(data)

                return mode_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("CaseModeType0 | None", data)

        mode = _parse_mode(d.pop("mode"))

        expected = CaseExpected.from_dict(d.pop("expected"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at").replace("Z", "+00:00"))

        case = cls(
            id=id,
            query=query,
            user_id=user_id,
            mode=mode,
            expected=expected,
            created_at=created_at,
        )

        case.additional_properties = d
        return case

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
