"""`make sbom`: dist/mnemic-VERSION.cdx.json, all that a release consists of, as CycloneDX 1.6: packages and crates.

Its licences are those of THIRD-PARTY-LICENSES and of the installed distributions. It is written only where it holds by
the schema of CycloneDX.
"""

import argparse
import subprocess
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from release.crates import ROOT, linked_crates
from release.distributions import base_install
from release.versions import version


class NotValid(Exception):
    """What was made does not hold by the schema; says where."""


def bill_of_materials() -> str:
    """What a release consists of, as JSON.

    Raises:
        NotValid: it does not hold by the schema.
        PackageNotFoundError: something of a base install is not installed here.
        subprocess.CalledProcessError: cargo could not tell.
    """
    bom = Bom()
    mnemic = _component("pypi", "mnemic", version(), "MIT", ComponentType.APPLICATION)
    bom.metadata.component = mnemic
    installed, linked = base_install(), linked_crates()
    packages = {one.name: _component("pypi", one.name, one.version, one.licence) for one in installed}
    crates = {f"{one.name} {one.version}": _component("cargo", one.name, one.version, one.licence) for one in linked}
    for component in (*packages.values(), *crates.values()):
        bom.components.add(component)
    bom.register_dependency(mnemic, [*packages.values(), *crates.values()])
    for one in installed:
        bom.register_dependency(packages[one.name], [packages[name] for name in one.needs])
    for crate in linked:
        bom.register_dependency(crates[f"{crate.name} {crate.version}"], [crates[name] for name in crate.needs])
    written: str = JsonV1Dot6(bom).output_as_string(indent=1)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(written)
    if wrong is not None:
        raise NotValid(f"The SBOM does not hold by the schema of CycloneDX: {wrong}")
    return written + "\n"


def _component(
    kind: str, name: str, number: str, licence: str, part: ComponentType = ComponentType.LIBRARY
) -> Component:
    url = PackageURL(kind, None, name, number)
    licences = [LicenseFactory().make_from_string(licence)] if licence else []
    return Component(type=part, name=name, version=number, purl=url, bom_ref=str(url), licenses=licences)


def main() -> None:
    """What the Makefile calls."""
    asked = argparse.ArgumentParser(description="Write what a release consists of.")
    asked.add_argument("--out", type=Path, default=ROOT / "dist")
    out = asked.parse_args().out
    try:
        written = bill_of_materials()
    except (NotValid, PackageNotFoundError, subprocess.CalledProcessError) as failed:
        raise SystemExit(str(failed)) from failed
    out.mkdir(exist_ok=True)
    (out / f"mnemic-{version()}.cdx.json").write_text(written, "utf-8")


if __name__ == "__main__":
    main()
