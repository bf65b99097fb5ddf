"""Losses of a threshold surface T against truth, on the scaled gray D; weight: what each pixel counts; all (N, H, W)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def hinge(gray: Tensor, threshold: Tensor, truth: Tensor, alpha: Tensor, weight: Tensor) -> Tensor:
    """The paper's loss: mean of max(1 − α · (D − T) · B, 0), B = +1 for paper and −1 for ink (truth: True = ink).

    A truth between 0 and 1 is a mixture of both: so is its loss.
    """
    margin, ink = alpha * (gray - threshold), truth.float()
    return (weight * ((1 - ink) * F.relu(1 - margin) + ink * F.relu(1 + margin))).mean()


def dice(gray: Tensor, threshold: Tensor, truth: Tensor, alpha: Tensor, weight: Tensor) -> Tensor:
    """Half the cross-entropy of α · (T − D) as the logit of ink, plus one minus the soft F-measure of the batch."""
    logit, target = alpha * (threshold - gray), truth.float()
    entropy = F.binary_cross_entropy_with_logits(logit, target, weight=weight)
    ink = torch.sigmoid(logit) * weight
    overlap = (2 * (ink * target).sum() + 1) / (ink.sum() + (target * weight).sum() + 1)
    return 0.5 * entropy + 1 - overlap


def writing(logit: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy of the view's logit (N, rows, columns) that there is writing in a square of the patch."""
    side = truth.shape[1] // logit.shape[1]
    there = F.max_pool2d(truth.float()[:, None], side)[:, 0]
    return F.binary_cross_entropy_with_logits(logit, there)


# "page" is "dice" with patches whose pixels count the more the less ink their page has (`Patches`): the F-measure of a
# page counts a wrong pixel of empty paper as much as one of a letter, and more where the page has little ink
LOSSES = {"hinge": hinge, "dice": dice, "page": dice}
