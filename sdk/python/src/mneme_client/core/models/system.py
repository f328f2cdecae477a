from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.system_disk import SystemDisk
    from ..models.system_lanes_item import SystemLanesItem
    from ..models.system_last_hour import SystemLastHour
    from ..models.system_last_minute import SystemLastMinute
    from ..models.system_memory import SystemMemory
    from ..models.system_nodes_item import SystemNodesItem
    from ..models.system_queue import SystemQueue
    from ..models.system_stores_item import SystemStoresItem
    from ..models.system_threads_item import SystemThreadsItem


T = TypeVar("T", bound="System")


@_attrs_define
class System:
    """
    Attributes:
        version (str):
        started_at (datetime.datetime): ISO 8601, UTC
        threads (list[SystemThreadsItem]): that answer requests
        lanes (list[SystemLanesItem]): processes that run models
        warnings (list[str]): what limits the server: a GPU or a model that cannot be used, and why; also in `/ready`
        queue (SystemQueue):
        last_minute (SystemLastMinute): what happened in all projects on this node
        last_hour (SystemLastHour): the same in each of the last 60 minutes, oldest first; the last one is in progress
        stores (list[SystemStoresItem]): sizes of the data
        disk (SystemDisk):
        memory (SystemMemory):
        nodes (list[SystemNodesItem]): of the service; one that was lost is shown for a day
        last_backup_at (datetime.datetime | None): of `mneme backup` with this data directory; null: none is known
    """

    version: str
    started_at: datetime.datetime
    threads: list[SystemThreadsItem]
    lanes: list[SystemLanesItem]
    warnings: list[str]
    queue: SystemQueue
    last_minute: SystemLastMinute
    last_hour: SystemLastHour
    stores: list[SystemStoresItem]
    disk: SystemDisk
    memory: SystemMemory
    nodes: list[SystemNodesItem]
    last_backup_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        version = self.version

        started_at = self.started_at.isoformat()

        threads = []
        for threads_item_data in self.threads:
            threads_item = threads_item_data.to_dict()
            threads.append(threads_item)

        lanes = []
        for lanes_item_data in self.lanes:
            lanes_item = lanes_item_data.to_dict()
            lanes.append(lanes_item)

        warnings = self.warnings

        queue = self.queue.to_dict()

        last_minute = self.last_minute.to_dict()

        last_hour = self.last_hour.to_dict()

        stores = []
        for stores_item_data in self.stores:
            stores_item = stores_item_data.to_dict()
            stores.append(stores_item)

        disk = self.disk.to_dict()

        memory = self.memory.to_dict()

        nodes = []
        for nodes_item_data in self.nodes:
            nodes_item = nodes_item_data.to_dict()
            nodes.append(nodes_item)

        last_backup_at: None | str
        if isinstance(self.last_backup_at, datetime.datetime):
            last_backup_at = self.last_backup_at.isoformat()
        else:
            last_backup_at = self.last_backup_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "version": version,
                "started_at": started_at,
                "threads": threads,
                "lanes": lanes,
                "warnings": warnings,
                "queue": queue,
                "last_minute": last_minute,
                "last_hour": last_hour,
                "stores": stores,
                "disk": disk,
                "memory": memory,
                "nodes": nodes,
                "last_backup_at": last_backup_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.system_disk import SystemDisk  # noqa: PLC0415
        from ..models.system_lanes_item import SystemLanesItem  # noqa: PLC0415
        from ..models.system_last_hour import SystemLastHour  # noqa: PLC0415
        from ..models.system_last_minute import SystemLastMinute  # noqa: PLC0415
        from ..models.system_memory import SystemMemory  # noqa: PLC0415
        from ..models.system_nodes_item import SystemNodesItem  # noqa: PLC0415
        from ..models.system_queue import SystemQueue  # noqa: PLC0415
        from ..models.system_stores_item import SystemStoresItem  # noqa: PLC0415
        from ..models.system_threads_item import SystemThreadsItem  # noqa: PLC0415

        d = dict(src_dict)
        version = d.pop("version")

        started_at = datetime.datetime.fromisoformat(d.pop("started_at").replace("Z", "+00:00"))

        threads = []
        _threads = d.pop("threads")
        for threads_item_data in _threads:
            threads_item = SystemThreadsItem.from_dict(threads_item_data)

            threads.append(threads_item)

        lanes = []
        _lanes = d.pop("lanes")
        for lanes_item_data in _lanes:
            lanes_item = SystemLanesItem.from_dict(lanes_item_data)

            lanes.append(lanes_item)

        warnings = cast("list[str]", d.pop("warnings"))

        queue = SystemQueue.from_dict(d.pop("queue"))

        last_minute = SystemLastMinute.from_dict(d.pop("last_minute"))

        last_hour = SystemLastHour.from_dict(d.pop("last_hour"))

        stores = []
        _stores = d.pop("stores")
        for stores_item_data in _stores:
            stores_item = SystemStoresItem.from_dict(stores_item_data)

            stores.append(stores_item)

        disk = SystemDisk.from_dict(d.pop("disk"))

        memory = SystemMemory.from_dict(d.pop("memory"))

        nodes = []
        _nodes = d.pop("nodes")
        for nodes_item_data in _nodes:
            nodes_item = SystemNodesItem.from_dict(nodes_item_data)

            nodes.append(nodes_item)

        def _parse_last_backup_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_backup_at_type_0 = datetime.datetime.fromisoformat(data.replace("Z", "+00:00"))

                return last_backup_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast("datetime.datetime | None", data)

        last_backup_at = _parse_last_backup_at(d.pop("last_backup_at"))

        system = cls(
            version=version,
            started_at=started_at,
            threads=threads,
            lanes=lanes,
            warnings=warnings,
            queue=queue,
            last_minute=last_minute,
            last_hour=last_hour,
            stores=stores,
            disk=disk,
            memory=memory,
            nodes=nodes,
            last_backup_at=last_backup_at,
        )

        system.additional_properties = d
        return system

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
