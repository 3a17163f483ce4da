"""Uploading a data set to the Hugging Face hub, with the hub's own client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peerexam.errors import MissingExtraError, PeerexamError, SetupError

UPLOADED = ("README.md", "manifest.json", "canary.txt", "data/*.jsonl", "data/*.parquet")
"""What goes up: neither the ledger nor the config, which may name places on this machine."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_KIND = "dataset"


class Hub:
    """A data set's place on the hub.

    The token is the hub client's own: from `HF_TOKEN`, or from `hf auth login`. It is sent to the
    hub, and never written down.

    Args:
        name: `OWNER/NAME`.
        public: Everybody may see it; otherwise its owner alone.
        endpoint: Another hub; by default `HF_ENDPOINT`, or huggingface.co.
        token: In place of the client's own.

    Raises:
        MissingExtraError: The hub's client is not installed.
        SetupError: The name is none.
    """

    def __init__(
        self,
        name: str,
        *,
        public: bool = False,
        endpoint: str | None = None,
        token: str | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise SetupError(f"'{name[:100]}' is no repository name on the hub: write OWNER/NAME")
        self.name = name
        self._public = public
        self._token = token
        self._api = _client(endpoint, token)

    def check(self) -> None:
        """Refuse what will not go: no token, no network, no right, another visibility.

        Raises:
            SetupError: It will not go; the message has the mend.
        """
        import huggingface_hub

        if not (self._token or huggingface_hub.get_token()):
            raise SetupError(
                "no token for the hub: log in with `hf auth login`, or set HF_TOKEN to a token "
                "that may write (https://huggingface.co/settings/tokens)"
            )
        with _told(SetupError, f"cannot push to {self.name}"):
            user = self._api.whoami()
            there = self._visibility()
        self._check_rights(user)
        self._check_visibility(there)

    def _check_rights(self, user: Mapping[str, Any]) -> None:
        owner = self.name.partition("/")[0]
        names = [user.get("name"), *(org.get("name") for org in user.get("orgs") or ())]
        if owner.casefold() not in {str(name).casefold() for name in names}:
            raise SetupError(
                f"the hub's token is that of '{user.get('name')}', who has no right to '{owner}': "
                f"push to {user.get('name')}/{self.name.partition('/')[2]}, or log in as another"
            )
        if ((user.get("auth") or {}).get("accessToken") or {}).get("role") == "read":
            raise SetupError("the hub's token may only read: make one that may write")

    def _visibility(self) -> bool | None:
        """Whether the data set that is there is public, None where there is none."""
        from huggingface_hub.errors import RepositoryNotFoundError

        try:
            return not self._api.repo_info(self.name, repo_type=_KIND).private
        except RepositoryNotFoundError:
            return None

    def _check_visibility(self, is_public: bool | None) -> None:
        if is_public is None or is_public == self._public:
            return
        if is_public:
            raise SetupError(
                f"{self.name} is there and visible to everyone: add --public, or name another"
            )
        raise SetupError(
            f"{self.name} is there and private: make it public on the hub first, leave out "
            "--public, or name another"
        )

    def push(self, folder: Path) -> str:
        """Upload a data set; files of an earlier one that it has not are deleted there.

        Returns:
            Its URL.

        Raises:
            PeerexamError: It did not go.
        """
        with _told(PeerexamError, f"could not push to {self.name}"):
            self._api.create_repo(
                self.name, repo_type=_KIND, private=not self._public, exist_ok=True
            )
            there = self._visibility()
        # Looked at again: setting the questions may have taken hours.
        self._check_visibility(there)
        with _told(PeerexamError, f"could not push to {self.name}"):
            self._api.upload_folder(
                repo_id=self.name,
                repo_type=_KIND,
                folder_path=folder,
                allow_patterns=list(UPLOADED),
                delete_patterns=["data/*"],
                commit_message="Upload a data set made with peerexam",
            )
        return f"{self._api.endpoint}/datasets/{self.name}"


def how_to_push(folder: Path, name: str) -> str:
    """How to upload a finished data set later, without peerexam."""
    include = " ".join(f"--include '{pattern}'" for pattern in UPLOADED)
    return (
        "Push it later by the same command, which asks no model again, or by: "
        f"hf upload {name} {folder} . --repo-type dataset --private {include}"
    )


def _client(endpoint: str | None, token: str | None) -> Any:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise MissingExtraError(
            "pushing needs the package huggingface-hub: pip install 'peerexam[hub]'"
        ) from error
    return HfApi(endpoint=endpoint, token=token, library_name="peerexam")


@contextmanager
def _told(kind: type[PeerexamError], what: str) -> Iterator[None]:
    """Put the client's errors into ours; it has many kinds of them, and its network layer more."""
    try:
        yield
    except PeerexamError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:300] or type(error).__name__
        raise kind(f"{what}: {said}") from error
