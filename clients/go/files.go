package utilitytools

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

const filesPath = "/api/v1/files"

// Escapes the name of a file in a form (HTML Standard, "multipart form data").
var escapeName = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22")

// UploadedFile is a file that is stored for 24 hours.
type UploadedFile struct {
	// ID is what every field FileUrl takes instead of a URL.
	ID        string `json:"id"`
	SizeBytes int    `json:"sizeBytes"`
	// SHA256 is in hexadecimal.
	SHA256 string `json:"sha256"`
	// Type is the media type, by the content of the file.
	Type      string    `json:"type"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Upload stores a file. Tools derive the name of their result from name, which may be empty.
func (c *Client) Upload(ctx context.Context, name string, content []byte) (*UploadedFile, error) {
	body := new(bytes.Buffer)
	form := multipart.NewWriter(body)
	disposition := `form-data; name="file"; filename="` + escapeName.Replace(name) + `"`
	part, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}})
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"Content-Type": form.FormDataContentType()}
	// Repeating it only stores the file once more.
	sent := c.sendWithRetries(ctx, outgoing{method: http.MethodPost, path: filesPath, headers: headers, body: body.Bytes()})
	if sent.err != nil {
		return nil, sent.err
	}
	file := new(UploadedFile)
	return file, json.Unmarshal(sent.body, file)
}

// DeleteFile deletes an uploaded file at once.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.sendWithRetries(ctx, outgoing{method: http.MethodDelete, path: filesPath + "/" + url.PathEscape(id)}).err
}
