"""verl's MultiTurnSFTDataset for this data set, whose messages and tools are JSON text so that nothing is padded.

data.custom_cls.path=verl_sft.py data.custom_cls.name=JsonSFTDataset data.max_length=8192
"""

import json
from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset


class JsonSFTDataset(MultiTurnSFTDataset):
    """A data set that parses messages and tools once, on reading, and trains on the messages that `loss` selects."""

    def _read_files_and_process(self) -> None:
        super()._read_files_and_process()
        self.messages = [[json.loads(message) for message in row] for row in self.messages]
        self.tools = [json.loads(tools) for tools in self.tools]

    def _build_messages(self, example: dict[str, Any]) -> list[dict[str, Any]]:
        self._trained = example["loss"]
        return [json.loads(message) for message in example[self.messages_key]]

    def _process_single_message(self, index: int, *message: Any, **options: Any) -> tuple[Any, ...]:
        ids, loss, *columns = super()._process_single_message(index, *message, **options)
        return ids, loss if self._trained[index] else loss * 0, *columns
