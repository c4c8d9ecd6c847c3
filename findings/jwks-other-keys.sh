#!/usr/bin/env bash
# Authlib 1.9.10 (`authlib.jose`, which is deprecated) and python-jose 3.5.0 (Python): a token signed with RS256, and a JWK Set that has
# its key and one of another type, ML-DSA (AKP) or Ed448 (OKP), as providers publish them while they change keys.
# Expected: the other key is left aside, as RFC 7517, section 5, says of unknown types, and as joserfc 1.8.0, jwcrypto 1.6.1 and PyJWT
# 2.15.1 do.
# Seen: with the other key first, python-jose refuses the token, although it names its key with `kid`. Authlib ends with
# KeyError: 'AKP'.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet authlib==1.9.10 python-jose==3.5.0 joserfc==1.8.0 jwcrypto==1.6.1 pyjwt==2.15.1 cryptography==50.0.2
cat > verify.py <<'SCRIPT'
import base64, json, warnings
warnings.simplefilter("ignore")
import authlib.jose, jose.jwt, jwcrypto.jwk, jwcrypto.jwt, jwt
from joserfc import jwk, jwt as joserfc_jwt
from cryptography.hazmat.primitives.asymmetric import ed448, mldsa
encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
key = jwk.RSAKey.generate_key(2048, {"kid": "ours", "alg": "RS256"})
token = joserfc_jwt.encode({"alg": "RS256", "kid": "ours"}, {"sub": "me"}, key)
others = {
    "AKP": {"alg": "ML-DSA-44", "pub": encode(mldsa.MLDSA44PrivateKey.generate().public_key().public_bytes_raw())},
    "OKP": {"crv": "Ed448", "x": encode(ed448.Ed448PrivateKey.generate().public_key().public_bytes_raw())},
}
for kind, other in others.items():
    keys = {"keys": [{"kty": kind, "kid": "other"} | other, key.as_dict(private=False)]}
    libraries = {
        "Authlib": lambda: authlib.jose.jwt.decode(token, authlib.jose.JsonWebKey.import_key_set(keys))["sub"],
        "python-jose": lambda: jose.jwt.decode(token, keys)["sub"],
        "joserfc": lambda: joserfc_jwt.decode(token, jwk.KeySet.import_key_set(keys)).claims["sub"],
        "jwcrypto": lambda: json.loads(
            jwcrypto.jwt.JWT(jwt=token, key=jwcrypto.jwk.JWKSet.from_json(json.dumps(keys))).claims
        )["sub"],
        "PyJWT": lambda: jwt.decode(token, jwt.PyJWKSet.from_dict(keys)["ours"].key, algorithms=["RS256"])["sub"],
    }
    for name, verify in libraries.items():
        try:
            print(kind, name, verify())
        except Exception as error:
            print(kind, name, repr(error))
SCRIPT
output=$(venv/bin/python verify.py 2>/dev/null)
echo "$output"
for kind in AKP OKP; do
  grep -qxF "$kind python-jose JWKError(\"Incorrect key type. Expected: 'RSA', Received: $kind\")" <<<"$output"
  for name in joserfc jwcrypto PyJWT; do
    grep -qxF "$kind $name me" <<<"$output"
  done
done
grep -qxF "AKP Authlib KeyError('AKP')" <<<"$output"
grep -qxF 'OKP Authlib me' <<<"$output"
echo 'as described'
