"""Checks what cannot be installed here: the formula, the flake and the bill of materials say what is in the directory."""

import hashlib
import json
import pathlib
import re
import sys

directory = pathlib.Path(sys.argv[1])
for name in ("toolgate.rb", "flake.nix"):
    file = directory / name
    if not file.exists():
        print(f"!! {name} was not made (--url)", file=sys.stderr)
        continue
    pairs = re.findall(r'url =? ?"[^"]*/([^"/]+)";?\s+sha256 =? ?"([0-9a-f]{64})"', file.read_text())
    archives = {archive.name for archive in directory.glob("*-musl.tar.gz")}
    if {archive for archive, _ in pairs} != archives:
        sys.exit(f"{name} names other archives than there are: {pairs}")
    for archive, checksum in pairs:
        if hashlib.sha256((directory / archive).read_bytes()).hexdigest() != checksum:
            sys.exit(f"{name}: the checksum of {archive} is wrong")

(file,) = directory.glob("*.cdx.json")
bom = json.loads(file.read_text())
if (bom["bomFormat"], bom["specVersion"]) != ("CycloneDX", "1.6"):
    sys.exit("the bill of materials is of another format")
known = {component["bom-ref"] for component in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
if len(known) != len(bom["components"]) + 1:
    sys.exit("the bill of materials lists something twice")
needed = {need for entry in bom["dependencies"] for need in entry["dependsOn"]}
if not needed <= known or {entry["ref"] for entry in bom["dependencies"]} != known:
    sys.exit("the bill of materials names something that it does not list")
third = (directory / "THIRD-PARTY-LICENSES").read_text()
for component in bom["components"]:
    # Our own crates come from this repository, the library from the compiler.
    ours = component["name"].startswith("toolgate") or component["name"] == "rust-std"
    if "licenses" not in component or (not ours and f"{component['name']} {component['version']} (" not in third):
        sys.exit(f"{component['name']} has no licence")
    if not ours and "hashes" not in component:
        sys.exit(f"{component['name']} has no checksum")
