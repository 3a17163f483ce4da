"""A run's folder: reading and writing its JSONL and JSON files."""

from __future__ import annotations

from peerexam.runfolder.columns import RecordStream, columns_of
from peerexam.runfolder.folder import RunFolder
from peerexam.runfolder.jsonl import TornTailWarning, read_jsonl
from peerexam.runfolder.writer import RecordWriter, record_line

__all__ = [
    "RecordStream",
    "RecordWriter",
    "RunFolder",
    "TornTailWarning",
    "columns_of",
    "read_jsonl",
    "record_line",
]
