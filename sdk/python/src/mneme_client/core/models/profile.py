from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.profile_entry import ProfileEntry
    from ..models.profile_person import ProfilePerson


T = TypeVar("T", bound="Profile")


@_attrs_define
class Profile:
    """
    Attributes:
        user_id (str):
        generated_at (datetime.datetime): ISO 8601, UTC
        facts (list[ProfileEntry]): facts that hold now, newest first; the other lists are newest first, too
        preferences (list[ProfileEntry]): What the user likes, and instructions that hold for long
        people (list[ProfilePerson]): What is said of persons
        events (list[ProfileEntry]): What happened, or will happen, at a named time
        text (str): The same as Markdown, for a prompt
        tokens (int): Estimated number of tokens of `text`
        omitted (int): Number of entries that were found and are left out
    """

    user_id: str
    generated_at: datetime.datetime
    facts: list[ProfileEntry]
    preferences: list[ProfileEntry]
    people: list[ProfilePerson]
    events: list[ProfileEntry]
    text: str
    tokens: int
    omitted: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        user_id = self.user_id

        generated_at = self.generated_at.isoformat()

        facts = []
        for facts_item_data in self.facts:
            facts_item = facts_item_data.to_dict()
            facts.append(facts_item)

        preferences = []
        for preferences_item_data in self.preferences:
            preferences_item = preferences_item_data.to_dict()
            preferences.append(preferences_item)

        people = []
        for people_item_data in self.people:
            people_item = people_item_data.to_dict()
            people.append(people_item)

        events = []
        for events_item_data in self.events:
            events_item = events_item_data.to_dict()
            events.append(events_item)

        text = self.text

        tokens = self.tokens

        omitted = self.omitted

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "userId": user_id,
                "generated_at": generated_at,
                "facts": facts,
                "preferences": preferences,
                "people": people,
                "events": events,
                "text": text,
                "tokens": tokens,
                "omitted": omitted,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.profile_entry import ProfileEntry  # noqa: PLC0415
        from ..models.profile_person import ProfilePerson  # noqa: PLC0415

        d = dict(src_dict)
        user_id = d.pop("userId")

        generated_at = datetime.datetime.fromisoformat(d.pop("generated_at").replace("Z", "+00:00"))

        facts = []
        _facts = d.pop("facts")
        for facts_item_data in _facts:
            facts_item = ProfileEntry.from_dict(facts_item_data)

            facts.append(facts_item)

        preferences = []
        _preferences = d.pop("preferences")
        for preferences_item_data in _preferences:
            preferences_item = ProfileEntry.from_dict(preferences_item_data)

            preferences.append(preferences_item)

        people = []
        _people = d.pop("people")
        for people_item_data in _people:
            people_item = ProfilePerson.from_dict(people_item_data)

            people.append(people_item)

        events = []
        _events = d.pop("events")
        for events_item_data in _events:
            events_item = ProfileEntry.from_dict(events_item_data)

            events.append(events_item)

        text = d.pop("text")

        tokens = d.pop("tokens")

        omitted = d.pop("omitted")

        profile = cls(
            user_id=user_id,
            generated_at=generated_at,
            facts=facts,
            preferences=preferences,
            people=people,
            events=events,
            text=text,
            tokens=tokens,
            omitted=omitted,
        )

        profile.additional_properties = d
        return profile

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
