"""What a migration touched, by comparing the sources of the old and the new program; decides which deliberately wrong
migrations are worth a run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tfmigrate.verify.judge.controls import Mutant, Subject
from tfmigrate.verify.run.program import last_name, tree_of


@dataclass(frozen=True)
class Signs:
    """Where a source mentions a subject: keywords of calls, calls by the last part of their name, attributes that are
    assigned."""

    keywords: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


def _signs(keywords: str = "", calls: str = "", attributes: str = "") -> Signs:
    return Signs(frozenset(keywords.split()), frozenset(calls.split()), frozenset(attributes.split()))


OPTIMIZERS = "SGD Adam Adamax Adadelta Adagrad Nadam RMSprop Ftrl"
SIGNS: Mapping[Subject, Signs] = {
    "batch size": _signs("batch_size validation_batch_size", "batch padded_batch flow flow_from_directory"),
    "learning rate": _signs("lr learning_rate", "", "lr learning_rate"),
    "optimizer": _signs("optimizer", OPTIMIZERS),
    "shuffling": _signs("shuffle", "shuffle", "shuffle"),
    "scope": _signs("", "multi_gpu_model scope MirroredStrategy MultiWorkerMirroredStrategy compile"),
    "sample weights": _signs("class_weight sample_weight"),
    "validation": _signs("validation_data validation_split validation_steps"),
    "loss": _signs("loss loss_weights reduction", "add_loss reduce_mean compute_average_loss"),
    "steps": _signs("steps_per_epoch steps max_steps"),
    "epochs": _signs("epochs nb_epoch initial_epoch"),
    "regularizers": _signs(
        "kernel_regularizer bias_regularizer activity_regularizer W_regularizer b_regularizer recurrent_regularizer "
        "embeddings_regularizer"
    ),
    "dropout": _signs(
        "dropout recurrent_dropout",
        "Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianDropout GaussianNoise AlphaDropout",
    ),
    "loaded weights": _signs("weights", "load_weights load_model set_weights get_file restore"),
    "frozen layers": _signs("trainable", "", "trainable"),
    "precision": _signs("dtype", "set_floatx set_global_policy set_policy cast"),
    "predictions": _signs("", "predict predict_on_batch predict_generator"),
}


def touched(old: Mapping[str, str | bytes], new: Mapping[str, str | bytes]) -> frozenset[Subject]:
    """Subjects that two programs (path to source of each module) do not mention alike."""
    before, after = _said(old), _said(new)
    return frozenset(subject for subject in SIGNS if before[subject] != after[subject])


def _said(program: Mapping[str, str | bytes]) -> dict[Subject, Counter[str]]:
    mentions: dict[Subject, Counter[str]] = {subject: Counter() for subject in SIGNS}
    for source in program.values():
        for subject, words in _words(tree_of(source)):
            mentions[subject][words] += 1
    return mentions


def _words(tree: ast.Module) -> Iterator[tuple[Subject, str]]:
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for subject, signs in SIGNS.items():
                if last_name(node.func) in signs.calls:
                    yield subject, ast.dump(node)
                for keyword in node.keywords:
                    if keyword.arg in signs.keywords:
                        yield subject, f"{keyword.arg}={ast.dump(keyword.value)}"
                        if subject == "loss" and isinstance(keyword.value, ast.Name) and keyword.value.id in functions:
                            yield subject, ast.dump(functions[keyword.value.id])
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for subject, signs in SIGNS.items():
                    if isinstance(target, ast.Attribute) and target.attr in signs.attributes:
                        yield subject, f"{target.attr}={ast.dump(node.value)}"


@dataclass(frozen=True)
class LeftOut:
    """A deliberately wrong migration that was not run, and why."""

    mutation: str
    why: str
    possible: bool = True
    """Whether it could have been made in this program."""


def choose(
    possible: Sequence[Mutant], subjects: frozenset[Subject], least: int
) -> tuple[tuple[Mutant, ...], tuple[Mutant, ...]]:
    """(those worth a run, the others): of each subject that the migration touched one, and others until there are
    `least`, of subjects as many as possible."""
    chosen: dict[Subject, Mutant] = {}
    for mutant in possible:
        if mutant.subject in subjects:
            chosen.setdefault(mutant.subject, mutant)
    for mutant in possible:
        if len(chosen) < least:
            chosen.setdefault(mutant.subject, mutant)
    picked = list(chosen.values())
    rest = [mutant for mutant in possible if mutant not in picked]
    missing = max(0, least - len(picked))
    picked, rest = picked + rest[:missing], rest[missing:]
    return tuple(sorted(picked, key=possible.index)), tuple(rest)


def why_left_out(mutant: Mutant, subjects: frozenset[Subject], made: Collection[Subject]) -> str:
    """`made`: what the wrong migrations that were run are about."""
    if mutant.subject not in subjects:
        return f"the migration changes nothing about the {mutant.subject}"
    if mutant.subject in made:
        return f"another mistake about the {mutant.subject} was run"
    return "a run takes long here, and enough other mistakes were run"
