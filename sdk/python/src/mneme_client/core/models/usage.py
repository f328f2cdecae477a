from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.usage_plan import UsagePlan, check_usage_plan

if TYPE_CHECKING:
    from ..models.usage_documents import UsageDocuments
    from ..models.usage_period import UsagePeriod
    from ..models.usage_queries import UsageQueries
    from ..models.usage_storage_bytes import UsageStorageBytes
    from ..models.usage_tokens import UsageTokens


T = TypeVar("T", bound="Usage")


@_attrs_define
class Usage:
    """
    Attributes:
        plan (UsagePlan):
        period (UsagePeriod):
        queries (UsageQueries):
        documents (UsageDocuments):
        storage_bytes (UsageStorageBytes):
        tokens (UsageTokens):
    """

    plan: UsagePlan
    period: UsagePeriod
    queries: UsageQueries
    documents: UsageDocuments
    storage_bytes: UsageStorageBytes
    tokens: UsageTokens
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        plan: str = self.plan

        period = self.period.to_dict()

        queries = self.queries.to_dict()

        documents = self.documents.to_dict()

        storage_bytes = self.storage_bytes.to_dict()

        tokens = self.tokens.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "plan": plan,
                "period": period,
                "queries": queries,
                "documents": documents,
                "storage_bytes": storage_bytes,
                "tokens": tokens,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.usage_documents import UsageDocuments  # noqa: PLC0415
        from ..models.usage_period import UsagePeriod  # noqa: PLC0415
        from ..models.usage_queries import UsageQueries  # noqa: PLC0415
        from ..models.usage_storage_bytes import UsageStorageBytes  # noqa: PLC0415
        from ..models.usage_tokens import UsageTokens  # noqa: PLC0415

        d = dict(src_dict)
        plan = check_usage_plan(d.pop("plan"))

        period = UsagePeriod.from_dict(d.pop("period"))

        queries = UsageQueries.from_dict(d.pop("queries"))

        documents = UsageDocuments.from_dict(d.pop("documents"))

        storage_bytes = UsageStorageBytes.from_dict(d.pop("storage_bytes"))

        tokens = UsageTokens.from_dict(d.pop("tokens"))

        usage = cls(
            plan=plan,
            period=period,
            queries=queries,
            documents=documents,
            storage_bytes=storage_bytes,
            tokens=tokens,
        )

        usage.additional_properties = d
        return usage

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
