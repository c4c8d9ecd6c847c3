// Package utilitytools is a client of the Utility Tools API: a method for each tool, with safe retries.
package utilitytools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultBaseURL = "http://127.0.0.1:8080"
	// The service ends every call within 100 s; an attempt that takes longer has lost its connection.
	attemptTime = 110 * time.Second
	maxDelay    = 8 * time.Second
)

// Client calls the tools. Its methods may be used by several goroutines.
type Client struct {
	// APIKey is a key of scope "tools".
	APIKey string
	// BaseURL is the URL of the service. Default: http://127.0.0.1:8080, where "npm start" listens.
	BaseURL string
	// MaxRetries is the maximum number of retries of a call. Default of New: 4.
	MaxRetries int
	// RetryDelay is the time before the first retry, which doubles each time. Default of New: 500 ms.
	RetryDelay time.Duration
	HTTP       *http.Client
}

// New creates a client. An empty baseURL is the default.
func New(apiKey, baseURL string) *Client {
	if baseURL == "" {
		baseURL = defaultBaseURL
	}
	// A redirect would carry the input, and its secrets, to another server.
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		APIKey:     apiKey,
		BaseURL:    strings.TrimRight(baseURL, "/"),
		MaxRetries: 4,
		RetryDelay: 500 * time.Millisecond,
		HTTP:       &http.Client{Timeout: attemptTime, CheckRedirect: refuse},
	}
}

// CallOptions are the options of one call.
type CallOptions struct {
	// MaxCredits rejects the call, before anything runs, if its price exceeds this number of credits. Nil: no limit.
	MaxCredits *int
	// IdempotencyKey repeats an earlier call: within 24 hours, its result is free. Default: a new key.
	IdempotencyKey string
}

// Result is the result of a call.
type Result[T any] struct {
	Output T
	// Body is the JSON of the output, as received: the receipt of the call has its digest.
	Body []byte
	// Cost is the price of the call, Charged the credits charged for it, Left the credits available afterwards.
	Cost, Charged, Left int
	// RequestID finds the call in the dashboard and in the log of the service.
	RequestID string
	// IdempotencyKey repeats the call for free within 24 hours.
	IdempotencyKey string
	// Replayed is true if the result is that of an earlier attempt or call with the same key.
	Replayed bool
	// ReusedFrom is the id of the earlier call whose result this is, because of MaxAge, at no cost, and Age how old it is. Empty if
	// the tool ran for this call.
	ReusedFrom string
	Age        time.Duration
}

// Fault is one fault of the input.
type Fault struct {
	// Pointer is a JSON Pointer into the input.
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// APIError is the refusal of a call. Branch on Code, whose meaning is stable. Nothing is charged.
type APIError struct {
	Code      string  `json:"code"`
	Status    int     `json:"status"`
	Title     string  `json:"title"`
	Detail    string  `json:"detail"`
	RequestID string  `json:"requestId"`
	Faults    []Fault `json:"errors"`
}

func (e *APIError) Error() string {
	text := e.Detail
	for _, fault := range e.Faults {
		text += fmt.Sprintf("\n  %s %s", fault.Pointer, fault.Message)
	}
	return fmt.Sprintf("%s [%s, request %s]", text, e.Code, e.RequestID)
}

// ConnectionError says that no response of the service arrived. The call may have run: repeat it with IdempotencyKey to get its
// result without a second charge.
type ConnectionError struct {
	Err            error
	IdempotencyKey string
}

func (e *ConnectionError) Error() string { return "no response from the service: " + e.Err.Error() }
func (e *ConnectionError) Unwrap() error { return e.Err }

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

func decodeFile(data string) ([]byte, error) {
	if data == "" {
		return nil, errors.New("the file is not in the result: download it from FileUrl")
	}
	return base64.StdEncoding.DecodeString(data)
}

// Codes of errors after which the same call may succeed within seconds.
var transient = map[string]bool{
	"rate_limited": true, "pool_busy": true, "feed_unavailable": true, "tool_unavailable": true, "internal": true,
}

func newKey() (string, error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", random), nil
}

type attempt struct {
	headers    http.Header
	body       []byte
	err        error
	mayRetry   bool
	uncertain  bool
	retryAfter time.Duration
}

// A request that may be repeated.
type outgoing struct {
	method, path string
	headers      map[string]string
	body         []byte
	// Empty for requests that are no calls.
	key        string
	hasSecrets bool
}

func (c *Client) send(ctx context.Context, out outgoing) attempt {
	request, err := http.NewRequestWithContext(ctx, out.method, c.BaseURL+out.path, bytes.NewReader(out.body))
	if err != nil {
		return attempt{err: err}
	}
	request.Header.Set("Authorization", "Bearer "+c.APIKey)
	request.Header.Set("Accept", "application/json")
	for name, value := range out.headers {
		request.Header.Set(name, value)
	}
	lost := func(err error) attempt {
		return attempt{err: &ConnectionError{err, out.key}, mayRetry: ctx.Err() == nil, uncertain: true}
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return lost(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return lost(err)
	}
	isJSON := response.StatusCode == http.StatusOK || response.StatusCode == http.StatusCreated
	if (isJSON && json.Valid(content)) || response.StatusCode == http.StatusNoContent {
		return attempt{headers: response.Header, body: content}
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	retryAfter := time.Duration(seconds) * time.Second
	problem := new(APIError)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(content, problem) == nil {
		return attempt{err: problem, mayRetry: transient[problem.Code], retryAfter: retryAfter}
	}
	failed := lost(fmt.Errorf("status %d of a proxy or another server", response.StatusCode))
	failed.mayRetry = response.StatusCode == 408 || response.StatusCode == 429 || response.StatusCode >= 500
	failed.retryAfter = retryAfter
	return failed
}

// sendWithRetries repeats a call with the same key, so that it runs once and is charged once. The service stores no calls with
// secrets and rejects a key that it has seen, until it detects that the connection of the earlier attempt was lost.
func (c *Client) sendWithRetries(ctx context.Context, out outgoing) attempt {
	uncertain := false
	for number := 0; ; number++ {
		result := c.send(ctx, out)
		var problem *APIError
		freed := out.hasSecrets && uncertain && errors.As(result.err, &problem) && problem.Code == "idempotency_key_used"
		if result.err == nil || number >= c.MaxRetries || !(result.mayRetry || freed) {
			return result
		}
		uncertain = uncertain || result.uncertain
		delay := time.Duration(math.Min(float64(maxDelay), float64(c.RetryDelay)*math.Pow(2, float64(number))) * (0.5 + mathrand.Float64()/2))
		if delay < result.retryAfter {
			delay = result.retryAfter
		}
		select {
		case <-ctx.Done():
			return result
		case <-time.After(delay):
		}
	}
}

func call[T any](ctx context.Context, c *Client, tool string, hasSecrets bool, input any, given []CallOptions) (*Result[T], error) {
	var options CallOptions
	if len(given) > 0 {
		options = given[0]
	}
	key := options.IdempotencyKey
	if key == "" {
		own, err := newKey()
		if err != nil {
			return nil, err
		}
		key = own
	}
	body, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"Content-Type": "application/json", "Idempotency-Key": key}
	if options.MaxCredits != nil {
		headers["X-Max-Credits"] = strconv.Itoa(*options.MaxCredits)
	}
	sent := c.sendWithRetries(ctx, outgoing{http.MethodPost, "/api/v1/tools/" + tool, headers, body, key, hasSecrets})
	if sent.err != nil {
		return nil, sent.err
	}
	result := &Result[T]{Body: sent.body, RequestID: sent.headers.Get("X-Request-Id"), IdempotencyKey: key}
	if err := json.Unmarshal(sent.body, &result.Output); err != nil {
		return nil, err
	}
	result.Replayed = sent.headers.Get("Idempotent-Replayed") == "true"
	result.Cost, _ = strconv.Atoi(sent.headers.Get("X-Credits-Cost"))
	result.Charged, _ = strconv.Atoi(sent.headers.Get("X-Credits-Charged"))
	result.Left, _ = strconv.Atoi(sent.headers.Get("X-Credits-Remaining"))
	result.ReusedFrom = sent.headers.Get("X-Result-From")
	seconds, _ := strconv.Atoi(sent.headers.Get("Age"))
	result.Age = time.Duration(seconds) * time.Second
	// A replay under the client's own key is the result of an earlier attempt of the same call, which was charged.
	if result.Replayed && options.IdempotencyKey == "" && result.ReusedFrom == "" {
		result.Charged = result.Cost
	}
	return result, nil
}
