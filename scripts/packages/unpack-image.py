"""Unpacks the image of one machine as an engine would, and checks every digest on the way: unpack-image.py ARCHIVE MACHINE DIRECTORY."""

import gzip
import hashlib
import io
import json
import sys
import tarfile

archive = tarfile.open(sys.argv[1])
machine = {"x86_64": "amd64", "aarch64": "arm64"}[sys.argv[2]]


def blob(descriptor):
    data = archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != descriptor["digest"] or len(data) != descriptor["size"]:
        sys.exit(f"{descriptor['digest']} is not what it says")
    return data


if json.load(archive.extractfile("oci-layout"))["imageLayoutVersion"] != "1.0.0":
    sys.exit("not an image layout of version 1.0.0")
(whole,) = json.load(archive.extractfile("index.json"))["manifests"]
(found,) = [each for each in json.loads(blob(whole))["manifests"] if each["platform"]["architecture"] == machine]
manifest = json.loads(blob(found))
config = json.loads(blob(manifest["config"]))
if config["architecture"] != machine:
    sys.exit("the configuration names another machine")
for descriptor, expected in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
    layer = gzip.decompress(blob(descriptor))
    if f"sha256:{hashlib.sha256(layer).hexdigest()}" != expected:
        sys.exit("a layer is not what the configuration says")
    tarfile.open(fileobj=io.BytesIO(layer)).extractall(sys.argv[3])
