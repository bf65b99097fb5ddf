"""Several processes that share a training run, as torchrun starts them; without it there is one."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from ..errors import UsageError
from .settings import Settings


@dataclass(frozen=True)
class Processes:
    """rank : which of them this is; the first one, 0, decides, writes and speaks. world : how many there are."""

    rank: int = 0
    world: int = 1

    @classmethod
    def join(cls) -> Processes:
        """Under torchrun the process group is joined."""
        if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls()
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
        return cls(torch.distributed.get_rank(), torch.distributed.get_world_size())

    @property
    def first(self) -> bool:
        """Whether this is the first one."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all have come here."""
        if self.world > 1:
            torch.distributed.barrier()

    def of_first(self, value: int, device: torch.device) -> int:
        """What the first process says."""
        if self.world == 1:
            return value
        decided = torch.tensor([value], device=device)
        torch.distributed.broadcast(decided, 0)
        return int(decided)

    def total(self, value: float, device: torch.device) -> float:
        """The sum over all of them."""
        if self.world == 1:
            return value
        shared = torch.tensor([float(value)], device=device)
        torch.distributed.all_reduce(shared)
        return float(shared)

    def parts(self, s: Settings) -> list[range]:
        """Which patches of a step this process makes: one range per accumulation.

        A batch must fall into equal parts: otherwise some of its patches would never be made.
        """
        if s.accumulate < 1 or s.batch % s.accumulate:
            raise UsageError(
                f"a batch of {s.batch} cannot be walked through in {s.accumulate} equal parts (accumulate)"
            )
        if s.batch % (s.accumulate * self.world):
            raise UsageError(f"a batch of {s.batch} in {s.accumulate} parts cannot be shared by {self.world} processes")
        per = s.batch // s.accumulate
        mine = per // self.world
        return [range(a * per + self.rank * mine, a * per + (self.rank + 1) * mine) for a in range(s.accumulate)]
