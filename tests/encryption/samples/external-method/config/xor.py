import base64
import json
import sys

print(json.dumps({"magic": "OpenTofu-External-Encryption-Method", "version": 1}), flush=True)
i = json.load(sys.stdin)
k = base64.b64decode(i.get("key") or "Kg==")
p = base64.b64decode(i["payload"])
print(json.dumps({"payload": base64.b64encode(bytes(b ^ k[n % len(k)] for n, b in enumerate(p))).decode()}))
