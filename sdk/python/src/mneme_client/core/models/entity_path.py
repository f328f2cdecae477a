from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.entity import Entity
    from ..models.entity_path_links_item import EntityPathLinksItem


T = TypeVar("T", bound="EntityPath")


@_attrs_define
class EntityPath:
    """
    Attributes:
        entities (list[Entity]): from the first to the last; empty if there is no path
        links (list[EntityPathLinksItem]): passages that mention an entity and the next one
    """

    entities: list[Entity]
    links: list[EntityPathLinksItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        entities = []
        for entities_item_data in self.entities:
            entities_item = entities_item_data.to_dict()
            entities.append(entities_item)

        links = []
        for links_item_data in self.links:
            links_item = links_item_data.to_dict()
            links.append(links_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "entities": entities,
                "links": links,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.entity import Entity  # noqa: PLC0415
        from ..models.entity_path_links_item import EntityPathLinksItem  # noqa: PLC0415

        d = dict(src_dict)
        entities = []
        _entities = d.pop("entities")
        for entities_item_data in _entities:
            entities_item = Entity.from_dict(entities_item_data)

            entities.append(entities_item)

        links = []
        _links = d.pop("links")
        for links_item_data in _links:
            links_item = EntityPathLinksItem.from_dict(links_item_data)

            links.append(links_item)

        entity_path = cls(
            entities=entities,
            links=links,
        )

        entity_path.additional_properties = d
        return entity_path

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
