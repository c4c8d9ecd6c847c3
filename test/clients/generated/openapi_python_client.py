import base64
import json
import os

from client import AuthenticatedClient
from client.api.account import get_account
from client.api.tools import hash_text, qr_generate
from client.models import Account, HashTextInput, HashTextOutput, InvalidRequestProblem, QrGenerateInput, QrGenerateOutput

url = os.environ["BASE_URL"]
tools = AuthenticatedClient(base_url=url, token=os.environ["TOOLS_KEY"])
owner = AuthenticatedClient(base_url=url, token=os.environ["ACCOUNT_KEY"])

hashed = hash_text.sync(client=tools, body=HashTextInput(text="abc"))
image = qr_generate.sync(client=tools, body=QrGenerateInput(text="abc"))
account = get_account.sync(client=owner)
key = "openapi-python-client"
first = hash_text.sync(client=tools, body=HashTextInput(text="abc"), idempotency_key=key)
other = hash_text.sync(client=tools, body=HashTextInput(text="abcd"), idempotency_key=key)
assert isinstance(hashed, HashTextOutput)
assert isinstance(image, QrGenerateOutput)
assert isinstance(account, Account)
assert isinstance(first, HashTextOutput)
assert isinstance(other, InvalidRequestProblem)
print(
    json.dumps(
        {
            "hash": hashed.hash_,
            "image": base64.b64decode(image.image_base_64 or "")[:4].hex(),
            "account": account.id,
            "withKey": first.hash_,
            "code": other.code.value,
        }
    )
)
