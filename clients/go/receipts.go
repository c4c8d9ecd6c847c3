package utilitytools

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// SignedReceipt is the receipt of a charged call, with the keys of its digests in base64url. Pass a key on only together with the
// input or output: without it, the digest reveals nothing.
type SignedReceipt struct {
	// JWS is the receipt, signed with Ed25519.
	JWS       string `json:"receipt"`
	InputKey  string `json:"inputKey"`
	OutputKey string `json:"outputKey"`
}

// Receipt is what a receipt says.
type Receipt struct {
	// Service is the URL of the service.
	Service   string `json:"iss"`
	Account   string `json:"sub"`
	CallID    string `json:"callId"`
	RequestID string `json:"requestId"`
	Tool      string `json:"tool"`
	// Credits are those charged.
	Credits    int       `json:"credits"`
	AcceptedAt time.Time `json:"acceptedAt"`
	ChargedAt  time.Time `json:"chargedAt"`
	// The digests are HMAC-SHA-256 in base64url; empty for calls from before receipts existed.
	InputDigest  string `json:"inputDigest"`
	OutputDigest string `json:"outputDigest"`
}

// ErrNotGenuine says that no key that the service publishes has signed the receipt.
var ErrNotGenuine = errors.New("the receipt is not genuine: no key that the service publishes has signed it")

func (c *Client) read(ctx context.Context, path string, value any) error {
	sent := c.sendWithRetries(ctx, outgoing{method: http.MethodGet, path: path})
	if sent.err != nil {
		return sent.err
	}
	return json.Unmarshal(sent.body, value)
}

// GetReceipt returns the receipt of a charged call. The id is that of the call or of its request. The key of the client has to be one
// of scope "account".
func (c *Client) GetReceipt(ctx context.Context, id string) (*SignedReceipt, error) {
	signed := new(SignedReceipt)
	return signed, c.read(ctx, "/api/v1/account/calls/"+url.PathEscape(id)+"/receipt", signed)
}

// VerifyReceipt verifies the signature of a receipt with the keys that the service publishes. It needs no key of the client.
func (c *Client) VerifyReceipt(ctx context.Context, jws string) (*Receipt, error) {
	var published struct{ Keys []struct{ X string } }
	if err := c.read(ctx, "/.well-known/jwks.json", &published); err != nil {
		return nil, err
	}
	parts := strings.Split(jws, ".")
	if len(parts) != 3 {
		return nil, ErrNotGenuine
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	for _, key := range published.Keys {
		x, _ := base64.RawURLEncoding.DecodeString(key.X)
		if len(x) == ed25519.PublicKeySize && ed25519.Verify(x, []byte(parts[0]+"."+parts[1]), signature) {
			payload, err := base64.RawURLEncoding.DecodeString(parts[1])
			if err != nil {
				return nil, err
			}
			receipt := new(Receipt)
			return receipt, json.Unmarshal(payload, receipt)
		}
	}
	return nil, ErrNotGenuine
}

// IsOutput says whether a receipt is that of a result: the Body of a Result. The key is the OutputKey of the SignedReceipt.
func (r *Receipt) IsOutput(body []byte, outputKey string) bool {
	key, keyErr := base64.RawURLEncoding.DecodeString(outputKey)
	digest, digestErr := base64.RawURLEncoding.DecodeString(r.OutputDigest)
	sum := hmac.New(sha256.New, key)
	sum.Write(body)
	return keyErr == nil && digestErr == nil && hmac.Equal(sum.Sum(nil), digest)
}
