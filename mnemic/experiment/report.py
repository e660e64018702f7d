"""Tells what came of a run: as one HTML page that needs nothing beside it, as JSON and as CSV, and in lines.

No difference is told without its interval.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from mnemic.actors.kernel.errors import InvalidValue
from mnemic.bench.harness.statistics import holm
from mnemic.experiment.analysis import (
    Cost,
    Difference,
    Moved,
    Point,
    costs_of,
    differences_of,
    last_answers,
    moved_questions,
    paired_difference,
    points_of,
)
from mnemic.experiment.jobs import TOLD
from mnemic.experiment.measures import short_name
from mnemic.experiment.plots import draw_differences, draw_over_nights
from mnemic.experiment.run import SPEC_FILE, Outcome
from mnemic.runtime.api.reports import pluralize
from mnemic.runtime.keys.keys import replace_private

REPORT = "report"
"""Of a run's folder, ``report.html``, ``report.json`` and ``report.csv``."""
_TEXT_CHARS = 240
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;width:100%}
th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #ccc;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
pre{background:#f4f4f4;padding:1rem;overflow-x:auto}
.sure{font-weight:600}
.plots{display:flex;flex-wrap:wrap;gap:1rem}
svg{max-width:100%;height:auto}
small{color:#555}
"""


class Report(msgspec.Struct, frozen=True):
    """All that a report tells."""

    points: list[Point]
    differences: list[Difference]
    moved: list[Moved]
    costs: list[Cost]


def make_report(outcome: Outcome) -> Report:
    """Work it out."""
    return Report(
        points_of(outcome), differences_of(outcome), moved_questions(outcome, outcome.gold), costs_of(outcome)
    )


def write_report(outcome: Outcome, folder: Path) -> Path:
    """Write it into a run's folder; returns the page.

    Raises:
        ExtraMissing: matplotlib is not installed.
        OSError: it cannot be written.
    """
    report = make_report(outcome)
    spec_text = (folder / SPEC_FILE).read_text("utf-8")
    page = folder / f"{REPORT}.html"
    replace_private(page, as_html(outcome, report, spec_text).encode())
    replace_private(folder / f"{REPORT}.json", json.dumps(as_json(outcome, report), indent=1).encode())
    replace_private(folder / f"{REPORT}.csv", as_csv(report).encode())
    return page


def as_json(outcome: Outcome, report: Report) -> dict[str, Any]:
    """What a program reads."""
    manifest = outcome.manifest
    return {
        "name": manifest.spec.name,
        "spec": msgspec.to_builtins(manifest.spec),
        "engine": manifest.engine,
        "machine": manifest.machine,
        "version": manifest.version,
        "commit": manifest.commit,
        "failures": msgspec.to_builtins(manifest.failures),
        "said": said_of(outcome),
        "nights": max((len(one.nights) for one in outcome.results), default=0),
        "measures": list(manifest.spec.measures),
        "base_arm": manifest.spec.base_arm,
        **msgspec.to_builtins(report),
    }


def as_csv(report: Report) -> str:
    """The differences, and the means over the nights below each other."""
    written = io.StringIO()
    rows = [{"what": "difference", **msgspec.structs.asdict(one)} for one in report.differences]
    rows += [{"what": "mean", **msgspec.structs.asdict(one)} for one in report.points]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = csv.DictWriter(written, names, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


_MOST_DEGRADED = 5
"""So many sentences of a run are told of what its recalls could not do."""


def said_of(outcome: Outcome) -> list[str]:
    """What is to be known besides: which arms and stages failed, what recalls could not do, what stages said last."""
    found = [f"failed: {one.arm}, seed {one.seed}: {one.why}" for one in outcome.manifest.failures]
    found += list(outcome.manifest.notes)
    for one in outcome.results:
        of = f"{one.arm}, seed {one.seed}"
        found += [f"a stage failed: {of}, {said}" for said in one.stage_failures]
        found += [f"degraded: {of}: {said}" for said in one.degraded[:_MOST_DEGRADED]]
        more = len(one.degraded) - _MOST_DEGRADED
        found += [f"degraded: {of}: and {more} sentences more"] if more > 0 else []
        found += [f"{of}, {said}" for said in one.notes if said not in one.stage_failures]
        found += [f"{of}: {one.used} asked by an assistant, what answers opened to {one.opened}"] if one.used else []
    return found


def report_lines(view: Mapping[str, Any]) -> Iterator[str]:
    """What a person reads in a terminal, of `as_json`."""
    spec, points, differences = view["spec"], view["points"], view["differences"]
    seeds, nights = pluralize(len(spec["seeds"]), "seed"), view["nights"]
    about = f": {spec['about']}" if spec["about"] else ""
    of = f"{len(spec['arms'])} arms, {seeds}, {pluralize(nights, 'night')}"
    yield f"{view['name']}: {of}{about}"
    last = {(one["arm"], one["measure"]): one for one in points}
    for arm in spec["arms"]:
        means = [
            f"{short_name(measure)} {one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
            for measure in view["measures"]
            if (one := last.get((arm["name"], measure))) is not None
        ]
        yield f"  {arm['name']}: {', '.join(means) or 'nothing measured'}"
    if differences:
        after = pluralize(differences[0]["nights"], "night")
        yield f"less {view['base_arm']}, after {after} (95 % interval; p by Holm):"
    for each in differences:
        interval = f"[{each['low']:+.4f}, {each['high']:+.4f}]"
        moved, p = f"{each['difference']:+.4f} {interval}", f"{each['p_adjusted']:.2g}"
        yield f"  {each['arm']} {short_name(each['measure'])}: {moved}, p {p}"
    yield from view["said"]
    if "report" in view:
        yield view["report"]


def compare_runs(one: Outcome, other: Outcome) -> list[dict[str, Any]]:
    """The arms that two runs have both, by each measure of both: the second less the first.

    Raises:
        InvalidValue: there is nothing that both measured.
    """
    for seed, life in one.manifest.lives.items():
        if other.manifest.lives.get(seed, life) != life:
            why = f"their lives of seed {seed} are not the same"
            raise InvalidValue(
                name="the other run", value=other.manifest.spec.name, why=why, expected="two of one life"
            )
    both = [arm.name for arm in one.manifest.spec.arms if arm.name in {of.name for of in other.manifest.spec.arms}]
    found: list[dict[str, Any]] = []
    for arm in both:
        for measure in one.manifest.spec.measures:
            difference = paired_difference(last_answers(other, arm, measure), last_answers(one, arm, measure))
            if difference is not None:
                names = ("questions", "one", "other", "difference", "low", "high", "p")
                found.append({"arm": arm, "measure": measure, **dict(zip(names, difference, strict=True))})
    if not found:
        why = "they have no arm, measure and question in common"
        raise InvalidValue(name="the other run", value=other.manifest.spec.name, why=why, expected="two of one life")
    for each, p in zip(found, holm([each["p"] for each in found]), strict=True):
        each["p_adjusted"] = p
    return found


def comparison_lines(view: Mapping[str, Any]) -> Iterator[str]:
    """What a person reads of a comparison, which is in ``differences``."""
    for one in view["differences"]:
        interval = f"[{one['low']:+.4f}, {one['high']:+.4f}]"
        means, name = f"{one['one']:.3f} to {one['other']:.3f}", short_name(one["measure"])
        yield (
            f"{one['arm']} {name}: {means}, {one['difference']:+.4f} {interval}, p {one['p_adjusted']:.2g}"
            f" ({one['questions']} questions)"
        )


def as_html(outcome: Outcome, report: Report, spec_text: str) -> str:
    """One page without anything from elsewhere."""
    manifest, spec = outcome.manifest, outcome.manifest.spec
    arms = [one.name for one in spec.arms]
    questions = max((one.questions for one in report.points), default=0)
    always = points_of(outcome, always=True)
    parts = [
        f"<h1>{escape(spec.name)}</h1>",
        f"<p>{escape(spec.about)}</p>" if spec.about else "",
        f"<p>{len(arms)} arms, {pluralize(len(spec.seeds), 'seed')}, {pluralize(questions, 'question')}."
        f" Base arm: {escape(spec.base_arm)}.</p>",
        *(f"<p class=sure>{escape(one)}</p>" for one in said_of(outcome)),
        "<h2>Differences to the base arm</h2>",
        _difference_table(report.differences),
        "<div class=plots>",
        *(draw_differences(report.differences, one) for one in _measured(report.differences, spec.measures)),
        "</div><h2>Over the nights</h2><div class=plots>",
        *(draw_over_nights(always, one, arms) for one in _measured(always, spec.measures)),
        "</div><p><small>Of the questions that were asked each time; the table is of all.</small></p>",
        _mean_table(report.points),
        "<h2>Questions that changed</h2>",
        _moved_table(report.moved, outcome.texts, spec.measures[0]),
        "<h2>Cost</h2>",
        _table(
            ("arm", "lives", "s a night", "s a life", "peak MiB", "mind MiB"),
            [
                (one.arm, one.runs, *(f"{n:.2f}" for n in (one.night_s, one.took_s, one.peak_mib, one.store_mib)))
                for one in report.costs
            ],
        ),
        "<p><small>Of this machine's time, beside whatever else it did. A process that lived several arms had the"
        " memory of all of them.</small></p>",
        "<h2>What was run</h2>",
        _table(
            ("", ""),
            [
                ("seeds", ", ".join(map(str, spec.seeds))),
                ("engine", manifest.engine),
                ("machine", manifest.machine),
                ("Mnemic", f"{manifest.version} {manifest.commit}".strip()),
            ],
        ),
        f"<pre>{escape(spec_text)}</pre>",
        "<p><small>Means over questions; of one that several seeds ask its mean over these counts. Intervals:"
        " percentile bootstrap over questions, 95 %. p: randomization test of the paired differences, and adjusted for"
        " all comparisons of this page (Holm).</small></p>",
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(spec.name)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f"{''.join(parts)}</body></html>\n"
    )


def _measured(of: Sequence[Any], measures: Sequence[str]) -> list[str]:
    known = {one.measure for one in of}
    return [one for one in measures if one in known]


def _difference_table(differences: Sequence[Difference]) -> str:
    if not differences:
        return "<p>No question was asked of two arms.</p>"
    rows = [
        (
            one.arm,
            short_name(one.measure),
            one.questions,
            f"{one.base_mean:.3f}",
            f"{one.mean:.3f}",
            f"{one.difference:+.4f}",
            f"{one.low:+.4f} to {one.high:+.4f}",
            f"{one.p:.3g}",
            f"{one.p_adjusted:.3g}",
        )
        for one in differences
    ]
    heads = ("arm", "measure", "questions", "base", "arm's", "difference", "95 %", "p", "p, Holm")
    return _table(heads, rows, sure={place for place, one in enumerate(differences) if one.p_adjusted < 0.05})


def _mean_table(points: Sequence[Point]) -> str:
    rows = [
        (
            one.arm,
            short_name(one.measure),
            one.nights,
            one.questions,
            f"{one.mean:.4f}",
            f"{one.low:.4f} to {one.high:.4f}",
        )
        for one in points
    ]
    table = _table(("arm", "measure", "nights", "questions", "mean", "95 %"), rows)
    return f"<details><summary>As a table</summary>{table}</details>"


def _moved_table(moved: Sequence[Moved], texts: Mapping[str, str], measure: str) -> str:
    if not moved:
        return f"<p>None among the first {TOLD} hits of what both arms were asked.</p>"

    def said(seed: int, id: str) -> str:
        text = " ".join(texts.get(f"m:{seed}:{id}", "").split())
        return f"{id}: {text[:_TEXT_CHARS]}{'…' if len(text) > _TEXT_CHARS else ''}" if id else "nothing"

    rows = [
        (
            one.arm,
            texts.get(f"q:{one.question}", one.question),
            f"{one.change:+.3f}",
            f"{one.base_rank or 'none'} to {one.rank or 'none'}",
            said(one.seed, one.first),
            said(one.seed, one.base_first),
            ", ".join(one.rose[:3]) or "none",
            ", ".join(one.fell[:3]) or "none",
        )
        for one in moved
    ]
    heads = (
        "arm",
        "question",
        short_name(measure),
        "rank of what answers",
        "first now",
        "first by the base arm",
        "rose",
        "fell",
    )
    return _table(heads, rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]], sure: set[int] | frozenset[int] = frozenset()) -> str:
    found = list(rows)
    numbers = [bool(found) and all(_is_number(row[place]) for row in found) for place in range(len(heads))]
    head = "".join(f"<th{' class=n' * numbers[place]}>{escape(name)}</th>" for place, name in enumerate(heads))
    body = "".join(
        f"<tr{' class=sure' * (number in sure)}>"
        + "".join(f"<td{' class=n' * numbers[place]}>{escape(str(one))}</td>" for place, one in enumerate(row))
        + "</tr>"
        for number, row in enumerate(found)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
