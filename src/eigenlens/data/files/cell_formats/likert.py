"""Scales of questionnaires, and letter grades: the answers in their order, from the lowest to the highest.

The words are those of Likert (1932) and of the forms in common use; a point may have several wordings. A new scale is
one line in `SCALES`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A scale: its points from the lowest to the highest, each with its wordings in lower case."""

    points: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, points: str) -> Scale:
        """Return the scale of points separated by semicolons, their wordings by bars.

        >>> Scale.of("never; rarely | seldom; always").codes
        {'never': 1, 'rarely': 2, 'seldom': 2, 'always': 3}
        """
        return cls(tuple(tuple(word.strip() for word in point.split("|")) for point in points.split(";")))

    @property
    def codes(self) -> dict[str, int]:
        """The number of the point that each wording means, from 1."""
        codes = {word: place for place, words in enumerate(self.points, 1) for word in words}
        return codes | {word.replace("'", "\u2019"): place for word, place in codes.items()}


NEUTRAL = "neutral | undecided | unsure | not sure | neither"
DISAGREE = "strongly disagree | completely disagree | totally disagree | fully disagree"
AGREE = "strongly agree | completely agree | totally agree | fully agree"
NO_VIEW = f"{NEUTRAL} | neither agree nor disagree | neither disagree nor agree | no opinion"
NO_MOOD = f"{NEUTRAL} | neither satisfied nor dissatisfied | neither dissatisfied nor satisfied"


def _with_signs(letters: str) -> str:
    """Return the points of letter grades from the last to the first, each letter but f with a minus and a plus."""
    signed = (f"{each}- | {each}− | {each}–; {each}; {each}+" for each in reversed(letters))
    return "; ".join(["f", *signed])


LETTER_GRADES = "grades"

SCALES: dict[str, tuple[Scale, ...]] = {
    "agreement": (
        Scale.of(f"{DISAGREE}; disagree; {NO_VIEW}; agree; {AGREE}"),
        Scale.of(
            f"{DISAGREE}; disagree; somewhat disagree | slightly disagree; {NO_VIEW}; "
            f"somewhat agree | slightly agree; agree; {AGREE}"
        ),
        Scale.of(
            f"{DISAGREE}; somewhat disagree | slightly disagree | rather disagree; {NO_VIEW}; "
            f"somewhat agree | slightly agree | rather agree; {AGREE}"
        ),
    ),
    "frequency": (
        Scale.of("never; rarely | seldom; sometimes | occasionally; often | frequently; always"),
        Scale.of("never; almost never; sometimes; fairly often; very often"),
        Scale.of("never; rarely | seldom; sometimes | occasionally; often | frequently; very often; always"),
        Scale.of("never; almost never | rarely; sometimes; often; almost always | usually; always"),
        Scale.of("not at all; several days; more than half the days; nearly every day"),
    ),
    "quality": (
        Scale.of("very poor | very bad; poor | bad; fair | average | acceptable | ok; good; very good"),
        Scale.of("poor; fair; good; excellent"),
        Scale.of("poor; fair; good; very good; excellent"),
        Scale.of("very poor | very bad; poor | bad; fair | average; good; very good; excellent"),
    ),
    "satisfaction": (
        Scale.of(
            f"very dissatisfied | very unsatisfied; dissatisfied | unsatisfied; {NO_MOOD}; satisfied; very satisfied"
        ),
        Scale.of(
            f"very dissatisfied | very unsatisfied; dissatisfied | unsatisfied; somewhat dissatisfied; {NO_MOOD}; "
            "somewhat satisfied; satisfied; very satisfied"
        ),
        Scale.of(
            "extremely dissatisfied | very dissatisfied; somewhat dissatisfied; "
            f"{NO_MOOD}; somewhat satisfied; extremely satisfied | very satisfied"
        ),
    ),
    "likelihood": (
        Scale.of(
            f"very unlikely | extremely unlikely; unlikely; {NEUTRAL} | neither likely nor unlikely; likely; "
            "very likely | extremely likely"
        ),
        Scale.of(
            f"extremely unlikely | very unlikely; somewhat unlikely; {NEUTRAL} | neither likely nor unlikely; "
            "somewhat likely; extremely likely | very likely"
        ),
    ),
    "truth": (
        Scale.of("not at all true of me; rarely true; sometimes true; often true; almost always true"),
        Scale.of("not at all true; hardly true; moderately true; exactly true"),
    ),
    "importance": (
        Scale.of("not at all important; slightly important; moderately important; very important; extremely important"),
    ),
    "intensity": (
        Scale.of("not at all; a little | slightly; moderately | somewhat; quite a bit | very; extremely | very much"),
    ),
    "amount": (
        Scale.of("low; medium | moderate | mid; high"),
        Scale.of("very low; low; medium | moderate | mid; high; very high"),
        Scale.of("mild; moderate; severe"),
        Scale.of("no pain | absent; mild; moderate; severe"),
        Scale.of("no pain | absent; mild; moderate; severe; very severe | extreme"),
    ),
    "size": (
        Scale.of("small | s; medium | m; large | l"), Scale.of("xs; small | s; medium | m; large | l; xl; xxl"),
    ),
    "agreement in German": (
        Scale.of(
            "stimme gar nicht zu | stimme überhaupt nicht zu | trifft gar nicht zu | trifft überhaupt nicht zu; "
            "stimme eher nicht zu | stimme nicht zu | trifft eher nicht zu | trifft nicht zu; "
            "teils/teils | teils, teils | teils teils | teils-teils | weder noch | neutral; "
            "stimme eher zu | stimme zu | trifft eher zu | trifft zu; "
            "stimme voll zu | stimme voll und ganz zu | stimme völlig zu | trifft voll zu | trifft voll und ganz zu | "
            "trifft völlig zu"
        ),
    ),
    "satisfaction in German": (
        Scale.of(
            "sehr unzufrieden; eher unzufrieden | unzufrieden; teils/teils | teils, teils | teils teils | weder noch | "
            "neutral; eher zufrieden | zufrieden; sehr zufrieden"
        ),
    ),
    "frequency in German": (Scale.of("nie; selten; manchmal | gelegentlich; oft | häufig; immer | sehr oft"),),
    "agreement in French": (
        Scale.of(
            "pas du tout d'accord; plutôt pas d'accord | pas d'accord; "
            "ni d'accord ni pas d'accord | ni d'accord, ni pas d'accord | ni en accord ni en désaccord | neutre | "
            "sans opinion; plutôt d'accord | d'accord; tout à fait d'accord"
        ),
    ),
    "satisfaction in French": (
        Scale.of(
            "très insatisfait | pas du tout satisfait; insatisfait | plutôt insatisfait | peu satisfait; "
            "neutre | ni satisfait ni insatisfait; satisfait | plutôt satisfait; très satisfait | tout à fait satisfait"
        ),
    ),
    "frequency in French": (Scale.of("jamais; rarement; parfois | quelquefois; souvent; toujours"),),
    "agreement in Spanish": (
        Scale.of(
            "totalmente en desacuerdo | muy en desacuerdo; en desacuerdo; "
            "ni de acuerdo ni en desacuerdo | neutral | indiferente; de acuerdo; totalmente de acuerdo | muy de acuerdo"
        ),
    ),
    "satisfaction in Spanish": (
        Scale.of(
            "muy insatisfecho; insatisfecho; neutral | ni satisfecho ni insatisfecho; satisfecho; muy satisfecho"
        ),
    ),
    "frequency in Spanish": (
        Scale.of("nunca; casi nunca | rara vez | raramente; a veces | algunas veces; casi siempre | a menudo | "
                 "frecuentemente; siempre"),
    ),
    "agreement in Italian": (
        Scale.of(
            "per niente d'accordo | fortemente in disaccordo | completamente in disaccordo; "
            "poco d'accordo | in disaccordo; né d'accordo né in disaccordo | neutrale; "
            "abbastanza d'accordo | d'accordo; molto d'accordo | fortemente d'accordo | completamente d'accordo"
        ),
    ),
    "frequency in Italian": (Scale.of("mai; raramente; a volte | qualche volta; spesso; sempre"),),
    "agreement in Portuguese": (
        Scale.of(
            "discordo totalmente | discordo plenamente; discordo | discordo parcialmente; "
            "não concordo nem discordo | nem concordo nem discordo | neutro | indiferente; "
            "concordo | concordo parcialmente; concordo totalmente | concordo plenamente"
        ),
    ),
    "frequency in Portuguese": (
        Scale.of("nunca; raramente; às vezes; frequentemente | muitas vezes; sempre"),
    ),
    "agreement in Dutch": (
        Scale.of(
            "helemaal oneens | helemaal mee oneens | helemaal niet mee eens | zeer oneens; "
            "oneens | mee oneens | niet mee eens; neutraal | niet eens, niet oneens; eens | mee eens; "
            "helemaal eens | helemaal mee eens | zeer eens"
        ),
    ),
    "frequency in Dutch": (Scale.of("nooit; zelden; soms; vaak; altijd"),),
    LETTER_GRADES: (
        Scale.of("f; d; c; b; a"), Scale.of("f; e; d; c; b; a"), Scale.of("g; f; e; d; c; b; a"),
        Scale.of(_with_signs("abcd")), Scale.of(_with_signs("abcde")), Scale.of("u; g; f; e; d; c; b; a; a*"),
    ),
    "degrees": (Scale.of("fail; pass; merit; distinction"),),
}  # fmt: skip
"""Scales by what they measure, the usual one first; model files keep their places, so new ones are added last."""
