"""The order of roles that a chat template accepts.

A later turn never changes an earlier message, except that a user's message grows if the model's answer to it was empty.
"""

from collections.abc import Iterable, Sequence

from pipeline.types import Message

NO_ANSWER = "(no answer)"
"""Replaces an empty turn of the model between a tool result and the user's message on it."""


def is_empty_turn(message: Message) -> bool:
    """Return whether a message is a model's turn without text and calls, which Moonshot and Mistral refuse."""
    return message.role == "assistant" and not message.tool_calls and not message.content.strip()


def join_users(messages: Iterable[Message]) -> list[Message]:
    """Join adjacent messages of the user, since some templates require alternating roles (Gemma 3)."""
    joined: list[Message] = []
    for message in messages:
        if joined and message.role == joined[-1].role == "user":
            content = f"{joined[-1].content}\n\n{message.content}"
            joined[-1] = joined[-1].model_copy(update={"content": content})
        else:
            joined.append(message)
    return joined


def answer_results(messages: Iterable[Message]) -> list[Message]:
    """Put a turn of the model between a tool result and a message of the user (Mistral)."""
    answered: list[Message] = []
    for message in messages:
        if answered and message.role == "user" and answered[-1].role == "tool":
            answered.append(Message(role="assistant", content=NO_ANSWER))
        answered.append(message)
    return answered


def fold_system(messages: Sequence[Message]) -> list[Message]:
    """Put the system prompt at the beginning of the first user message, for servers that refuse the role (Gemma 2)."""
    if not messages or messages[0].role != "system":
        return list(messages)
    return join_users([messages[0].model_copy(update={"role": "user"}), *messages[1:]])
