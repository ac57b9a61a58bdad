"""The order of roles that a chat template takes. No message that stands before another is changed by a later turn,
except that a user's message grows if the model answered nothing to it.
"""

from collections.abc import Iterable, Sequence

from pipeline.types import Message

NO_ANSWER = "(no answer)"
"""What stands for an empty turn of the model between a result of a tool and the user's words on it."""


def is_empty_turn(message: Message) -> bool:
    """Is it a model's turn without text and calls? Moonshot and Mistral refuse those."""
    return message.role == "assistant" and not message.tool_calls and not message.content.strip()


def join_users(messages: Iterable[Message]) -> list[Message]:
    """Make one message of neighbouring ones of the user, since some templates want roles in turns (Gemma 3)."""
    joined: list[Message] = []
    for message in messages:
        if joined and message.role == joined[-1].role == "user":
            content = f"{joined[-1].content}\n\n{message.content}"
            joined[-1] = joined[-1].model_copy(update={"content": content})
        else:
            joined.append(message)
    return joined


def answer_results(messages: Iterable[Message]) -> list[Message]:
    """Put a turn of the model between a result of a tool and a message of the user (Mistral)."""
    answered: list[Message] = []
    for message in messages:
        if answered and message.role == "user" and answered[-1].role == "tool":
            answered.append(Message(role="assistant", content=NO_ANSWER))
        answered.append(message)
    return answered


def fold_system(messages: Sequence[Message]) -> list[Message]:
    """Put the system prompt at the beginning of the first message of the user, where the role is refused (Gemma 2)."""
    if not messages or messages[0].role != "system":
        return list(messages)
    return join_users([messages[0].model_copy(update={"role": "user"}), *messages[1:]])
