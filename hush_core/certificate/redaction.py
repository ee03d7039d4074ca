"""What the certificate says of redacted secrets: another promise than that of the noise, and stated apart.

The training data do not depend on a redacted value, so its bound is its prior (docs/mathematics.md, Proposition R).
"""

from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from hush_core.corpus import PLACEHOLDER

REDACTED = "redacted.parquet"

REDACTION_PROMISE = (
    "For every secret of redacted.parquet: wherever the value search found its value, in any of the forms that it "
    "looks for, `facts.redaction.placeholder` stands in its place. So for all candidates that differ in the bytes "
    "of the value alone, of any length, and are found in the same places, the examples are the same, and so is "
    "all that was made from them: no adversary names the right one of them with probability above `bound`, which "
    "is its prior. A copy that the search did not find is not covered; nor is what stands around a value."
)


class RedactionFacts(BaseModel):
    """What replaces every value, how many secrets have no value left, and in how many places of files."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    placeholder: str = PLACEHOLDER.decode()
    secrets: Annotated[int, Field(ge=0, strict=True)] = 0
    places: Annotated[int, Field(ge=0, strict=True)] = 0


def redacted_table(redacted: pl.DataFrame | None) -> tuple[pl.DataFrame, RedactionFacts]:
    """The certificate's table and facts, from the graph's `redacted`; None where nothing was redacted."""
    if redacted is None:
        kinds = {"redacted_id": pl.UInt32, "kind": pl.String, "name": pl.String, "prior": pl.Float64}
        redacted = pl.DataFrame(schema={**kinds, "places": pl.UInt32, "provenance": pl.String})
    table = redacted.select(
        "redacted_id", "kind", "name", "prior", pl.col("prior").alias("bound"), "places", "provenance"
    )
    return table, RedactionFacts(secrets=table.height, places=int(table["places"].sum()))


def check_redacted(facts: RedactionFacts, table: pl.DataFrame) -> list[str]:
    """What is wrong with them; the table is well-formed."""
    total = int(table["places"].sum())
    found = [
        (
            facts.placeholder != PLACEHOLDER.decode(),
            "facts.redaction: placeholder is not that of this version",
        ),
        (
            facts.secrets != table.height,
            f"facts.redaction: {facts.secrets} secrets stated, {table.height} in {REDACTED}",
        ),
        (facts.places != total, f"facts.redaction: {facts.places} places stated, {total} in {REDACTED}"),
        (
            not table["bound"].equals(table["prior"]),
            f"{REDACTED}: bound: is not the prior, which is what redaction proves",
        ),
    ]
    return [message for is_wrong, message in found if is_wrong]
