"""Ids of questions: readable, safe in any file, and different for different names."""

from __future__ import annotations

import hashlib
import re

from peerexam.records import Domain, Question

_UNSAFE = re.compile(r"[^A-Za-z0-9-]+")
_LONGEST = 40
_LONGEST_ID = 120
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]+")


def slug(name: str) -> str:
    """A name in letters, digits, `-` and `_`; where that loses anything, a digest is added.

    >>> slug("World History")
    'World_History'
    >>> slug("../etc") == slug("__/etc")
    False
    """
    safe = _UNSAFE.sub("_", name)
    kept = safe[:_LONGEST].strip("_-")
    if kept == name.replace(" ", "_") and "_" not in name:
        return kept
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{kept}_{digest}" if kept else digest


def question_id(author: str, domain: Domain, number: int) -> str:
    """`q-{author}-{domain}-{number}`; a domain is told from its namesakes by its path.

    >>> question_id("alice", Domain("World History"), 3)
    'q-alice-World_History-3'
    """
    place = slug(domain.name).replace("-", "_")
    if "-" in domain.name or len(domain.path) > 1:
        whole = "\x1f".join((domain.name, *domain.path))
        place += "_" + hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"q-{slug(author)}-{place}-{number}"


def follow_up_id(parent: Question, examiner: str, examinee: str) -> str:
    """`{parent}-f{round}`, with the examinee and, where it is not the author, the examiner.

    >>> follow_up_id(Question("q-a-x-1", "Why?", "x", author="a"), "a", "bob")
    'q-a-x-1-f2-bob'
    """
    known = parent.id if _PLAIN_ID.fullmatch(parent.id) else slug(parent.id)
    if len(known) > _LONGEST_ID:
        known = slug(parent.id)
    parts = [known, f"f{parent.round + 1}"]
    if examiner != parent.author:
        parts.append(f"by_{slug(examiner)}")
    if examinee != parent.examinee:
        parts.append(slug(examinee))
    return "-".join(parts)
