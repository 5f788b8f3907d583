"""Units of measurement and signs of currency, as cells have them beside their numbers."""

from __future__ import annotations

import re

CURRENCIES = (
    r"(?:US|CA|AU|NZ|HK|R|C|A)?\$|[€£¥₹₽₩₺]|CHF|EUR|USD|GBP|JPY|SEK|NOK|DKK|PLN|CZK|HUF|TRY|INR|CNY|AUD|CAD|BRL|ZAR|kr"
    r"|Rs\.?|Kč|zł"
)
"""The pattern of signs of currency, before or after a number."""

MONEY = re.compile(rf"(k|K|T|m|M|Mio\.?|Mrd\.?|Tsd\.?|bn|B)?\s?({CURRENCIES})")
"""Units of money, also in thousands and millions, such as TEUR."""

LETTERS = frozenset("mgshdytlLAVWNJKCFTUΩ%‰°")
"""Units of one letter, which has its case: 1a and 2b are not amperes and bits."""

LONGER = (
    # lengths, areas, volumes
    "mm cm dm km µm um nm pm in inch ft foot feet yd mi mile nmi ha acre dl cl ml µl ul hl cc gal pt oz "
    # masses and amounts
    "kg mg µg ug ng pg dag lb lbs mol mmol µmol umol nmol pmol kmol da kda m² m³ cm² km² "
    # times and rates
    "sec ms µs us ns min hr hrs hour day wk week mo month yr year bpm rpm fps hz khz mhz ghz "
    # forces, pressures, energies, powers, temperatures
    "kn pa kpa hpa mpa gpa bar mbar mmhg atm psi kj mj gj cal kcal wh kwh mwh kw mw gw hp °c °f deg rad "
    # electricity, light, radiation
    "mv kv ma µa ua ohm kω mω lx lm cd bq gy sv db dba "
    # shares, counts, information, biology
    "ppm ppb pp pct percent bit byte kb mb gb tb kib mib gib iu miu cell cfu copies bp kbp mbp cm⁻¹ "
    "mph kph kmh kt knot person people item piece pcs unit"
)
UNITS = LETTERS | frozenset(LONGER.split())
"""Units, longer ones in lower case; others are known by their repetition only."""

NOT_UNITS = frozenset({"st", "nd", "rd", "th", "am", "pm", "e", "x"})
"""Endings of numbers that are not units: ordinals, times of day."""


def is_known_unit(unit: str) -> bool:
    """Return whether a unit, or each part of a composed one, is known.

    >>> [is_known_unit(unit) for unit in ("kg", "mmol/L", "kg/m2", "µg/m³", "days", "foo", "YR2015")]
    [True, True, True, True, True, False, False]
    """
    if MONEY.fullmatch(unit):
        return True
    parts = [part for part in re.split(r"[/·*\s]|\bper\b", unit.replace("μ", "µ")) if part]
    bare = [re.sub(r"(?<=\D)[-−⁻]?(?:[1-9]|[²³¹⁻]+)$", "", part) or part for part in parts]
    cased = [one if len(one) == 1 else one.lower() for one in bare]
    return bool(cased) and all(one in UNITS or (len(one) > 2 and one.removesuffix("s") in UNITS) for one in cased)
