import base64
import json
import sys

print(json.dumps({"magic": "OpenTofu-External-Key-Provider", "version": 1}), flush=True)
meta = json.load(sys.stdin)
k = bytes(range(32))
out = {"keys": {"encryption_key": base64.b64encode(k).decode()}, "meta": {"external_data": {"key_id": "v1"}}}
if meta is not None:
    assert meta["external_data"]["key_id"] == "v1"
    out["keys"]["decryption_key"] = base64.b64encode(k).decode()
print(json.dumps(out))
