"""A package registry on loopback with the npm packages of a directory, and nothing else. Prints its address, then serves."""

import base64
import hashlib
import http.server
import json
import pathlib
import sys
import tarfile
import urllib.parse

packages = {}
for file in sorted(pathlib.Path(sys.argv[1]).glob("npm-*.tgz")):
    with tarfile.open(file) as archive:
        package = json.load(archive.extractfile("package/package.json"))
    packages[package["name"]] = (package, file)


class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path).removeprefix("/")
        body, kind = None, "application/json"
        if path.endswith(".tgz"):
            body = next((file.read_bytes() for _, file in packages.values() if file.name == path), None)
            kind = "application/octet-stream"
        elif path in packages:
            package, file = packages[path]
            digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
            dist = {"tarball": f"http://{self.headers['Host']}/{file.name}", "integrity": f"sha512-{digest}"}
            version = package["version"]
            body = json.dumps(
                {"name": path, "dist-tags": {"latest": version}, "versions": {version: package | {"dist": dist}}}
            ).encode()
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
server.serve_forever()
