"""The statistics of a comparison as written: answers, and the rates at which they are wrong, by simulation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tfmigrate.verify.judge.equivalence import ALPHA, FEWEST, PARTS, Answer, holm, look, margins, overall, plan


def one(differences: list[float], margin: float, alpha: float = 0.05) -> Answer:
    (outcome,) = look({"loss": differences}, {"loss": margin}, alpha)
    return outcome.answer


def test_the_three_answers() -> None:
    near, far = [0.01, -0.02, 0.015, 0.0, -0.01, 0.005], [1.1, 1.0, 0.9, 1.05, 0.95, 1.02]
    assert one(near, 0.1) == "equivalent"
    assert one(far, 0.1) == "different"
    assert one(far, 1.0) == "open", "on the edge of the margin nothing is shown"
    assert one([2.0, -2.0, 1.5, -1.4], 0.5) == "open", "no significant difference is no equivalence"


def test_a_significant_difference_inside_the_margin_is_equivalent() -> None:
    assert one([0.05, 0.051, 0.049, 0.05, 0.052], 0.1) == "equivalent"


def test_p_values_are_those_of_the_t_tests() -> None:
    differences = [0.3, -0.1, 0.2, 0.05, 0.12]
    (outcome,) = look({"loss": differences}, {"loss": 0.4}, 0.05)
    above = stats.ttest_1samp(differences, -0.4, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, 0.4, alternative="less").pvalue
    assert outcome.p_equivalent == pytest.approx(max(above, below))
    low, high = stats.t.interval(0.9, 4, np.mean(differences), stats.sem(differences))
    assert outcome.interval == pytest.approx((low, high))
    assert outcome.p_different > 0.9


def test_runs_without_noise() -> None:
    assert one([0.0, 0.0, 0.0, 0.0], 0.1) == "equivalent"
    assert one([0.2, 0.2, 0.2, 0.2], 0.1) == "different"


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_one_quantity_makes_a_difference_and_all_make_equivalence() -> None:
    near, far = [0.01, -0.02, 0.015, 0.0, -0.01, 0.005], [1.1, 1.0, 0.9, 1.05, 0.95, 1.02]
    wide = [2.0, -2.0, 1.5, -1.4, 0.3, 0.1]
    limits = {"a": 0.1, "b": 0.1}
    assert overall(look({"a": near, "b": far}, limits, 0.05)) == "different"
    assert overall(look({"a": near, "b": wide}, limits, 0.05)) == "open"
    assert overall(look({"a": near, "b": near}, limits, 0.05)) == "equivalent"
    assert overall(()) == "open"


def test_the_margin_is_what_another_seed_does() -> None:
    runs = np.random.default_rng(0).normal(3.0, 0.5, 4000)
    assert margins({"loss": list(runs)})["loss"] == pytest.approx(math.sqrt(2) * 0.5, rel=0.05)
    pairs = runs[0::2] - runs[1::2]
    assert margins({"loss": list(runs)})["loss"] == pytest.approx(np.std(pairs), rel=0.05)


@pytest.mark.parametrize("pairs", [1, 3, 4, 5, 8, 12, 20, 50])
def test_the_plan_spends_no_more_than_alpha(pairs: int) -> None:
    looks = plan(pairs)
    assert sum(each.alpha for each in looks) <= ALPHA + 1e-12
    assert [each.pairs for each in looks] == sorted({each.pairs for each in looks})
    assert all(FEWEST <= each.pairs <= pairs for each in looks)
    assert bool(looks) == (pairs >= FEWEST)
    assert not looks or looks[-1].pairs == pairs
    assert sum(part for _, part in PARTS) == pytest.approx(1.0)


Draw = Callable[[np.random.Generator, tuple[int, int]], Any]


def normal(random: np.random.Generator, size: tuple[int, int]) -> Any:
    return random.normal(size=size)


def skewed(random: np.random.Generator, size: tuple[int, int]) -> Any:
    return random.exponential(size=size) - 1.0


def experiments(
    count: int,
    pairs: int,
    shift: float,
    quantities: int = 3,
    draw: Draw = normal,
    shared: float = 0.0,
    correlation: float = 0.8,
) -> tuple[Counter[str], float]:
    """Whole experiments, with every look taken: how often each answer, and the mean number of pairs.

    `shift` of the new losses is in margins, `shared` the part of the noise that both runs of a pair have in common.
    """
    random = np.random.default_rng(pairs + quantities)
    mix = np.linalg.cholesky(np.full((quantities,) * 2, correlation) + (1 - correlation) * np.eye(quantities))
    answers: Counter[str] = Counter()
    taken = []
    for _ in range(count):
        common = shared * draw(random, (quantities, pairs))
        old, new = (mix @ draw(random, (quantities, pairs)) + common for _ in range(2))
        limits = margins({str(i): list(old[i]) for i in range(quantities)})
        answer: Answer = "open"
        for each in plan(pairs):
            found = {
                name: list(new[int(name)][: each.pairs] + shift * limit - old[int(name)][: each.pairs])
                for name, limit in limits.items()
            }
            answer = overall(look(found, limits, each.alpha))
            if answer != "open":
                break
        answers[answer] += 1
        taken.append(each.pairs)
    return answers, float(np.mean(taken))


MANY = 1500


def at_most(rate: float) -> float:
    """So many of MANY are seen by chance once in ten thousand times when the true rate is `rate`."""
    return float(stats.binom.isf(1e-4, MANY, rate))


@pytest.mark.parametrize("edge", [1.0, -1.0])
@pytest.mark.parametrize(("pairs", "quantities"), [(20, 3), (20, 1), (6, 2)])
@pytest.mark.parametrize("draw", [normal, skewed])
def test_on_the_edge_of_the_margin_both_answers_are_rarely_given(
    pairs: int, quantities: int, draw: Draw, edge: float
) -> None:
    """The worst case for both errors: each stays within ALPHA, skewed losses included (seen: 3 to 4%)."""
    answers, _ = experiments(MANY, pairs, edge, quantities, draw)
    assert answers["equivalent"] <= at_most(ALPHA)
    assert answers["different"] <= at_most(ALPHA)


@pytest.mark.parametrize("draw", [normal, skewed])
def test_the_same_training_is_hardly_ever_different_and_mostly_equivalent(draw: Draw) -> None:
    answers, taken = experiments(MANY, 20, 0.0, draw=draw)
    assert answers["different"] <= 0.002 * MANY
    assert answers["equivalent"] >= (0.9 if draw is normal else 0.83) * MANY
    assert taken < 17.5, "half of them end before the last look"


def test_what_a_pair_shares_makes_it_sharper() -> None:
    answers, taken = experiments(500, 20, 0.0, shared=2.0)
    assert answers["equivalent"] == 500
    assert taken < 10


def test_a_large_difference_is_found_early() -> None:
    answers, taken = experiments(500, 20, 3.0)
    assert answers["different"] >= 499
    assert taken < 10


def test_too_few_pairs_leave_it_open() -> None:
    answers, _ = experiments(500, 4, 0.0)
    assert answers["open"] >= 450


def test_half_a_margin_is_not_called_different() -> None:
    answers, _ = experiments(500, 20, 0.5)
    assert answers["different"] <= 3
