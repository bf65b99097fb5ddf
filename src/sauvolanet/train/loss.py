"""Losses of a threshold surface T against truth, on the scaled gray D (N patches; share: ink of each patch's page)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def hinge(gray: Tensor, threshold: Tensor, truth: Tensor, alpha: Tensor, share: Tensor) -> Tensor:
    """The paper's loss: mean of max(1 − α · (D − T) · B, 0), B = +1 for paper and −1 for ink (truth: True = ink).

    A truth between 0 and 1 is a mixture of both: so is its loss.
    """
    margin, ink = alpha * (gray - threshold), truth.float()
    return ((1 - ink) * F.relu(1 - margin) + ink * F.relu(1 + margin)).mean()


def dice(gray: Tensor, threshold: Tensor, truth: Tensor, alpha: Tensor, share: Tensor) -> Tensor:
    """Half the cross-entropy of α · (T − D) as the logit of ink, plus one minus the soft F-measure of the batch."""
    return _weighed(alpha * (threshold - gray), truth.float(), torch.ones_like(share))


LEAST_SHARE, USUAL_SHARE = 0.02, 0.08  # of ink on a page; a page with less than the first counts as if it had that


def page(gray: Tensor, threshold: Tensor, truth: Tensor, alpha: Tensor, share: Tensor) -> Tensor:
    """As `dice`, but a pixel counts the more the less ink its page has.

    The F-measure of a page counts a wrong pixel of empty paper as much as one of a letter, and more where the page has
    little ink; a loss per patch or batch knows nothing of that.
    """
    return _weighed(alpha * (threshold - gray), truth.float(), USUAL_SHARE / share.clamp(min=LEAST_SHARE))


def _weighed(logit: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Half the cross-entropy plus one minus the soft F-measure; weight : one number per patch."""
    weight = weight[:, None, None].expand_as(logit)
    entropy = F.binary_cross_entropy_with_logits(logit, target, weight=weight)
    ink = torch.sigmoid(logit) * weight
    overlap = (2 * (ink * target).sum() + 1) / (ink.sum() + (target * weight).sum() + 1)
    return 0.5 * entropy + 1 - overlap


LOSSES = {"hinge": hinge, "dice": dice, "page": page}
