"""Its server with its default model mneme-e5-small, asked over HTTP: another model than that of the peers."""

from engines.mneme import Peer as Mneme


class Peer(Mneme):
    MODEL = "mneme-e5-small"
