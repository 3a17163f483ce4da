"""Language models examine each other.

Five lines run an exam::

    import peerexam

    outcome = peerexam.run("EXAM.yaml", out="runs/first")
    for row in outcome.standings["standings"]:
        print(row["rank"], row["agent"], row["score"])

Names are loaded when they are first used, so that `import peerexam` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from peerexam.agents.base import Agent, Wrapper
    from peerexam.agents.function import FunctionAgent, ScriptedAgent
    from peerexam.agents.langchain.agent import from_langchain
    from peerexam.agents.langchain.chat_model import as_chat_model
    from peerexam.agents.registry import register
    from peerexam.agents.spec import AgentSpec
    from peerexam.calls import Completion, Message, Request, Sampling
    from peerexam.errors import PeerexamError
    from peerexam.protocols.config.loading import load_config
    from peerexam.protocols.config.models import AgentConfig, ExamConfig
    from peerexam.protocols.run.rejudge_and_add import add, rejudge
    from peerexam.protocols.run.runner import run, run_exam
    from peerexam.protocols.session.outcome import Outcome
    from peerexam.records import Answer, Domain, Mark, Question, Ranking, Standing, Verdict
    from peerexam.report.export.dataset import export_dataset
    from peerexam.report.run.html import write_report
    from peerexam.runfolder import RunFolder

_HOME = {
    "Agent": "agents.base",
    "AgentConfig": "protocols.config.models",
    "AgentSpec": "agents.spec",
    "Answer": "records",
    "Completion": "calls",
    "Domain": "records",
    "ExamConfig": "protocols.config.models",
    "FunctionAgent": "agents.function",
    "Mark": "records",
    "Message": "calls",
    "Outcome": "protocols.session.outcome",
    "PeerexamError": "errors",
    "Question": "records",
    "Ranking": "records",
    "Request": "calls",
    "RunFolder": "runfolder",
    "Sampling": "calls",
    "ScriptedAgent": "agents.function",
    "Standing": "records",
    "Verdict": "records",
    "Wrapper": "agents.base",
    "add": "protocols.run.rejudge_and_add",
    "as_chat_model": "agents.langchain.chat_model",
    "export_dataset": "report.export.dataset",
    "from_langchain": "agents.langchain.agent",
    "load_config": "protocols.config.loading",
    "register": "agents.registry",
    "rejudge": "protocols.run.rejudge_and_add",
    "run": "protocols.run.runner",
    "run_exam": "protocols.run.runner",
    "write_report": "report.run.html",
}

__all__ = [
    "Agent",
    "AgentConfig",
    "AgentSpec",
    "Answer",
    "Completion",
    "Domain",
    "ExamConfig",
    "FunctionAgent",
    "Mark",
    "Message",
    "Outcome",
    "PeerexamError",
    "Question",
    "Ranking",
    "Request",
    "RunFolder",
    "Sampling",
    "ScriptedAgent",
    "Standing",
    "Verdict",
    "Wrapper",
    "add",
    "as_chat_model",
    "export_dataset",
    "from_langchain",
    "load_config",
    "register",
    "rejudge",
    "run",
    "run_exam",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'peerexam' has no attribute '{name}'")
    try:
        return getattr(import_module(f"peerexam.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
    from peerexam.errors import MissingExtraError

    raise MissingExtraError(
        f"peerexam.{name} needs the package langchain-core: pip install 'peerexam[langchain]'"
    )


def __dir__() -> list[str]:
    return __all__
