"""The machine-learning bill of materials of a certified model: CycloneDX 1.6, in JSON.

It is made from the certificate alone, so a verifier makes it again and compares. It lists the model and its files,
what it was trained on and every package that made it. Commits have keyed fingerprints, as a commit's own id is a
hash of the text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from hush_core.certificate import Certificate

BOM = "bom.cdx.json"
_SPACE = UUID("5f0a1c9e-2c57-5d0e-9d4b-6c1f2b8a7e30")


def bill_of_materials(certificate: Certificate) -> str:
    """The document, the same for the same certificate."""
    return _bill(certificate.model_dump_json())


@lru_cache(maxsize=8)  # CycloneDX takes a third of a second, and a registration and each check want it
def _bill(document: str) -> str:
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    from hush_core.certificate.document import Certificate

    certificate = Certificate.model_validate_json(document)
    facts, plan = certificate.facts, certificate.facts.plan

    def properties(**values: object) -> list[Property]:
        return [Property(name=f"hush:{name}", value=str(value)) for name, value in values.items()]

    files = [
        Component(
            name=name, type=ComponentType.FILE, bom_ref=f"file:{name}",
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
        )
        for name, digest in certificate.model_files.items()
    ]  # fmt: skip
    model = Component(
        name=facts.name, type=ComponentType.MACHINE_LEARNING_MODEL, version=certificate.digest[:16],
        bom_ref="model", components=files,
        properties=properties(
            certificate_schema=certificate.schema_version, certificate_digest=certificate.digest,
            run=facts.run, mechanism=plan.mechanism.kind, method=plan.method, rounds=plan.rounds,
            noise_multiplier=plan.noise_multiplier, clip_norm=plan.clip_norm,
            runs_on_this_data=facts.runs_on_this_data,
        ),
    )  # fmt: skip
    data = [
        Component(
            name=name, type=ComponentType.DATA, bom_ref=f"source:{name}",
            properties=properties(commit_fingerprint=fingerprint),
        )
        for name, fingerprint in facts.sources.items()
    ]  # fmt: skip
    data.append(
        Component(
            name="examples", type=ComponentType.DATA, bom_ref="examples",
            properties=properties(count=facts.examples, fingerprint=facts.examples_fingerprint),
        )
    )  # fmt: skip
    code = [
        Component(
            name=name, version=version, bom_ref=f"code:{name}",
            type=ComponentType.PLATFORM if name == "python" else ComponentType.LIBRARY,
            purl=None if name == "python" else PackageURL("pypi", name=name, version=version),
        )
        for name, version in facts.code.items()
    ]  # fmt: skip
    about, number = BomMetaData(component=model), uuid5(_SPACE, certificate.digest)
    bom = Bom(components=[*data, *code], metadata=about, serial_number=number)
    bom.metadata.timestamp = None  # the same certificate gives the same document
    bom.register_dependency(model, [*data, *code])
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"
