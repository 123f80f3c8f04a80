"""Every operator with every sort of value: one line each, with its three-valued result (JMS 2.0 section 3.8.1)."""

from __future__ import annotations

import pytest

from causeway.selectors import parse

HEADERS: dict[str, object] = {
    "region": "EU",
    "name": "O'Neil",
    "empty": "",
    "upper": "ABC",
    "percent": "100%",
    "under": "a_b",
    "dotted": "a.b*c+[d]",
    "lines": "one\ntwo",
    "digits": "2",
    "n": 5,
    "zero": 0,
    "minus": -7,
    "big": 2**63 - 1,
    "small": -(2**63),
    "wide": 2**64 - 1,
    "odd": 2**53 + 1,
    "x": 2.5,
    "five": 5.0,
    "nan": float("nan"),
    "yes": True,
    "no": False,
    "raw": b"EU",
    "same": b"EU",
    "nothing": None,
    "_a$1": 1,
    "$": 2,
    "größe": 3,
    "类型": "x",
    "andy": 4,
}
"""`missing` and `gone` are not there; `nothing` is there and NULL, which is the same."""

TABLE = """
# Truth tables. T, F and U are TRUE, FALSE and a missing header.
T AND T                                     T
T AND F                                     F
T AND U                                     U
F AND T                                     F
F AND F                                     F
F AND U                                     F
U AND T                                     U
U AND F                                     F
U AND U                                     U
T OR T                                      T
T OR F                                      T
T OR U                                      T
F OR T                                      T
F OR F                                      F
F OR U                                      U
U OR T                                      T
U OR F                                      U
U OR U                                      U
NOT T                                       F
NOT F                                       T
NOT U                                       U
NOT NOT T                                   T
NOT NOT U                                   U
U AND U AND F                               F
U OR U OR T                                 T
T AND T AND U                               U
F OR F OR U                                 U

# Precedence: NOT before AND before OR; parentheses before all.
T OR T AND F                                T
(T OR T) AND F                              F
F AND F OR T                                T
F AND (F OR T)                              F
NOT F AND F                                 F
NOT (F AND F)                               T
NOT F OR T                                  T
NOT (F OR T)                                F
NOT n = 6                                   T
NOT n = 5 OR yes                            T
n = 5 AND region = 'EU' OR no               T
T OR U AND F                                T

# Precedence of arithmetic: signs, then * and /, then + and -, from left to right.
1 + 2 * 3 = 7                               T
(1 + 2) * 3 = 9                             T
10 - 2 - 3 = 5                              T
10 - (2 - 3) = 11                           T
100 / 10 / 2 = 5                            T
100 / (10 / 2) = 20                         T
2 * 3 + 4 * 5 = 26                          T
-2 * 3 = -6                                 T
- n + 10 = 5                                T
- (n + 10) = -15                            T
+ n = 5                                     T
- - n = 5                                   T
3 - -2 = n                                  T
3 - - 2 = n                                 T
3+-+2=1                                     T
n + 1 > n                                   T
n * 2 BETWEEN n + 4 AND n + 6               T
6 / 4 * 2 = 2                               T

# Literals: strings.
name = 'O''Neil'                            T
empty = ''                                  T
empty <> ''                                 F
region = 'eu'                               F
'a' = 'a'                                   T
'' = ''''                                   F
'--' = '--'                                 T
'a  b' = 'a b'                              F
'AND' = 'AND'                               T

# Literals: numbers.
n = 5                                       T
n = 5L                                      T
n = +5                                      T
n = 5.                                      T
n = 5.0                                     T
n = 5E0                                     T
n = .5E1                                    T
n = 50e-1                                   T
n = 0.05E+2                                 T
x = 2.5                                     T
x*2=5                                       T
-57.9E2 = -5790                             T
7E3 = 7000                                  T
7. = 7                                      T
95.7 > 95                                   T
.5 < 1                                      T
0 = 0                                       T
0.0 = -0.0                                  T
00.5 = .5                                   T
minus = -7                                  T
big = 9223372036854775807                   T
small = -9223372036854775808                T
small = - 9223372036854775808               T
wide > big                                  T
1E308 < 1.5E308                             T

# Literals: booleans. Keywords in any case.
TRUE                                        T
false                                       F
tRuE aNd nOt fAlSe                          T
yes = true                                  T
no = False                                  T
yes <> FALSE                                T
(n = 5) = TRUE                              T
(n = 5) <> yes                              F
TRUE = (missing = 1)                        U
region is not null                          T
n between 4 and 6                           T
region in ('EU')                            T
percent like '100!%' escape '!'             T

# Identifiers: as in Java, and their case counts.
_a$1 = 1                                    T
$ = 2                                       T
größe = 3                                   T
类型 = 'x'                                  T
andy = 4                                    T
Region = 'EU'                               U
N = 5                                       U
yes                                         T
no                                          F
nothing                                     U
NOT yes                                     F

# A header that is no boolean is no condition.
n                                           U
region                                      U
zero                                        U
raw                                         U
NOT n                                       U
NOT region                                  U
n OR yes                                    T

# Comparison of like values.
n <> 5                                      F
n <> 6                                      T
n < 6                                       T
n < 5                                       F
n <= 5                                      T
n <= 4                                      F
n > 4                                       T
n > 5                                       F
n >= 5                                      T
n >= 6                                      F
5 = n                                       T
6 > n                                       T
five = n                                    T
five >= n                                   T
x < n                                       T
x <> n                                      T
region = 'EU'                               T
region <> 'EU'                              F
region <> 'US'                              T
region = upper                              F
yes = no                                    F
yes <> no                                   T
odd = 9007199254740993                      T
odd = 9007199254740992                      F
odd = 9007199254740992.0                    T
nan = nan                                   F
nan <> nan                                  T
nan < 1                                     F

# Comparison of unlike values is false, whichever operator. (Not UNKNOWN: its NOT is true.)
n = '5'                                     F
n <> '5'                                    F
digits = 2                                  F
digits <> 2                                 F
digits > 1                                  F
digits < 1                                  F
n = yes                                     F
n <> yes                                    F
_a$1 = TRUE                                 F
_a$1 <> TRUE                                F
zero = FALSE                                F
zero <> FALSE                               F
region = TRUE                               F
region <> TRUE                              F
1 = 'x'                                     F
yes < no                                    F
yes >= yes                                  F
region < upper                              F
region >= region                            F
yes > 0                                     F
raw = 'EU'                                  F
raw <> 'EU'                                 F
raw = same                                  F
raw <> same                                 F
raw < same                                  F
raw = 5                                     F
NOT n = '5'                                 T
NOT n <> '5'                                T
NOT digits > 1                              T
NOT raw = same                              T

# Every operator with NULL.
missing = 1                                 U
missing <> 1                                U
missing < 1                                 U
missing <= 1                                U
missing > 1                                 U
missing >= 1                                U
1 = missing                                 U
missing = missing                           U
missing <> gone                             U
missing = nothing                           U
missing = 'a'                               U
missing = TRUE                              U
raw = missing                               U
NOT missing = 1                             U
missing + 1 = 1                             U
1 - missing = 1                             U
missing * 0 = 0                             U
missing / 1 = 1                             U
-missing = 1                                U
+missing = 1                                U
missing BETWEEN 1 AND 2                     U
missing NOT BETWEEN 1 AND 2                 U
missing IN ('a', 'b')                       U
missing NOT IN ('a', 'b')                   U
missing LIKE '%'                            U
missing NOT LIKE '%'                        U
missing IS NULL                             T
missing IS NOT NULL                         F
nothing IS NULL                             T
nothing IS NOT NULL                         F
region IS NULL                              F
region IS NOT NULL                          T
empty IS NULL                               F
zero IS NULL                                F
no IS NULL                                  F
raw IS NULL                                 F
raw IS NOT NULL                             T
NOT missing IS NULL                         F
(missing) IS NULL                           T

# Arithmetic.
n + 1 = 6                                   T
n - 6 = -1                                  T
n * n = 25                                  T
n / 2 = 2                                   T
n / 2. = 2.5                                T
minus / 2 = -3                              T
7 / -2 = -3                                 T
minus / -2 = 3                              T
x * 2 = n                                   T
x + n = 7.5                                 T
n / x = 2                                   T
n / 0 = 1                                   U
n / zero = n / zero                         U
n / 0.0 > 1                                 U
zero / 0 = 0                                U
NOT n / 0 = 1                               U
big + 1 > 0                                 U
small - 1 < 0                               U
big * big > 0                               U
- small > 0                                 U
small / -1 > 0                              U
big + 0 = big                               T
small + 0 = small                           T
wide - 1 > 0                                U
big + 1.0 > 0                               T
1E308 * 10 > 1E308                          T
region + 1 = 1                              U
digits + 1 = 3                              U
yes + 1 = 2                                 U
-yes = -1                                   U
+yes = 1                                    U
+region = 'EU'                              U
raw * 1 = 1                                 U

# BETWEEN.
n BETWEEN 5 AND 5                           T
n BETWEEN 5 AND 9                           T
n BETWEEN 1 AND 5                           T
n BETWEEN 6 AND 9                           F
n BETWEEN 9 AND 1                           F
n NOT BETWEEN 5 AND 9                       F
n NOT BETWEEN 6 AND 9                       T
n NOT BETWEEN 9 AND 1                       T
n BETWEEN x AND 5.5                         T
n BETWEEN 1 AND 9 AND no                    F
n BETWEEN 1 AND 9 AND yes                   T
n BETWEEN missing AND 9                     U
n BETWEEN missing AND 4                     F
n BETWEEN 6 AND missing                     F
n NOT BETWEEN missing AND 4                 T
n NOT BETWEEN missing AND 9                 U
n NOT BETWEEN 6 AND missing                 T
region BETWEEN 1 AND 9                      F
region NOT BETWEEN 1 AND 9                  F
yes BETWEEN 0 AND 2                         F
n BETWEEN region AND 9                      F

# IN.
region IN ('EU', 'US')                      T
region IN ('US', 'UK')                      F
region NOT IN ('EU', 'US')                  F
region NOT IN ('US')                        T
name IN ('O''Neil')                         T
empty IN ('')                               T
n IN ('5')                                  F
n NOT IN ('5')                              T
raw IN ('EU')                               F
yes NOT IN ('TRUE')                         T
NOT region IN ('US')                        T

# LIKE.
region LIKE 'EU'                            T
region LIKE 'eu'                            F
region LIKE 'E%'                            T
region LIKE '%U'                            T
region LIKE '%'                             T
region LIKE '%%'                            T
region LIKE '__'                            T
region LIKE '_'                             F
region LIKE '___'                           F
region LIKE '_%_'                           T
region LIKE 'EU%'                           T
region LIKE '%EU'                           T
region LIKE 'EU_'                           F
region LIKE 'E'                             F
region LIKE ''                              F
empty LIKE ''                               T
empty LIKE '%'                              T
empty LIKE '_'                              F
region NOT LIKE 'E%'                        F
region NOT LIKE 'U%'                        T
name LIKE '%''%'                            T
percent LIKE '100\\%' ESCAPE '\\'           T
percent LIKE '100!_' ESCAPE '!'             F
under LIKE 'a!_b' ESCAPE '!'                T
under LIKE 'a!%b' ESCAPE '!'                F
upper LIKE 'A_C'                            T
upper LIKE 'A!_C' ESCAPE '!'                F
percent LIKE '100%%' ESCAPE '%'             T
upper LIKE 'A%%C' ESCAPE '%'                F
dotted LIKE 'a.b*c+[d]'                     T
dotted LIKE 'a_b_c_[d]'                     T
dotted LIKE '%*%[%'                         T
dotted LIKE 'a.*'                           F
upper LIKE 'A.C'                            F
upper LIKE '[A]BC'                          F
upper LIKE 'ABC$'                           F
upper LIKE '^ABC'                           F
lines LIKE 'one%two'                        T
lines LIKE 'one_two'                        T
lines LIKE 'one%'                           T
lines LIKE 'one'                            F
n LIKE '5'                                  F
n NOT LIKE '5'                              F
yes LIKE '%'                                F
raw LIKE 'EU'                               F
raw NOT LIKE 'X'                            F

# The examples of the specification.
n > 4 AND region = 'EU' AND x < 2500        T
region = 'EU' AND color = 'blue'            U
color <> 'blue'                             U
NOT (color = 'blue')                        U
color IS NULL OR color <> 'blue'            T
"""

RESULTS = {"T": True, "F": False, "U": None}
LETTERS = {"T": True, "F": False}
"""The letters of the truth tables are headers; U is missing."""


def rows() -> list[tuple[str, bool | None]]:
    lines = [line.strip() for line in TABLE.splitlines() if line.strip() and not line.startswith("#")]
    return [(line[:-1].rstrip(), RESULTS[line[-1]]) for line in lines]


@pytest.mark.parametrize(("text", "expected"), rows())
def test_selector_has_the_value_the_specification_gives(text: str, expected: bool | None) -> None:
    selector = parse(text)
    assert selector.evaluate(HEADERS | LETTERS) is expected
    assert selector.matches(HEADERS | LETTERS) is (expected is True)


def test_table_is_long_enough_to_be_worth_its_name() -> None:
    texts = [text for text, _ in rows()]
    assert len(texts) >= 300
    assert len(texts) == len(set(texts)), "a line that is there twice tests nothing"


def test_white_space_separates_and_means_nothing() -> None:
    assert parse("\t n\f=\r\n5 ").evaluate(HEADERS) is True
    assert parse("(n)=5 AND(yes)OR'a'='b'").evaluate(HEADERS) is True


STRANGE = {
    "huge": 10**400,
    "huge negative": -(10**400),
    "list": [1],
    "map": {"a": 1},
    "object": object(),
    "complex": 1j,
    "infinite": float("inf"),
    "lone surrogate": "\ud800",
}


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("test", ["= 1.5", "< 1.5", "+ 1 > 0", "* 2.5 > 0", "/ 0.5 > 0", "LIKE 'a%'", "IN ('a')"])
def test_strange_values_of_a_callers_mapping_never_raise(value: object, test: str) -> None:
    assert parse(f"a {test}").evaluate({"a": value}) in (True, False, None)


def test_int_beyond_the_doubles_compares_as_infinite() -> None:
    assert parse("a > 1.5").evaluate({"a": 10**400}) is True
    assert parse("a < 1.5").evaluate({"a": -(10**400)}) is True
