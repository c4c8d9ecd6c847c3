#!/usr/bin/env bash
# github.com/modelcontextprotocol/go-sdk 1.8.0 (Go): tools whose result has a field of the type []byte or json.RawMessage, such as the
# content of a file.
# Expected: a result with the bytes in base64, as encoding/json writes them, and an output schema that says so.
# Seen: the schema that the SDK makes of the type asks for an array of integers, so that each call of the tool fails the validation of the
# SDK itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOPATH="$folder/go" GOFLAGS='-modcacherw -mod=mod'
cat > go.mod <<'MODULE'
module finding
go 1.25
require github.com/modelcontextprotocol/go-sdk v1.8.0
MODULE
cat > main.go <<'PROGRAM'
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}
type file struct {
	Data []byte `json:"data"`
}
type document struct {
	Data json.RawMessage `json:"data"`
}

func add[T any](server *mcp.Server, name string, result T) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, T, error) {
		return nil, result, nil
	})
}

func main() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	add(server, "file", file{[]byte("hello")})
	add(server, "document", document{json.RawMessage(`{"a":1}`)})
	ours, theirs := mcp.NewInMemoryTransports()
	go func() { _ = server.Run(ctx, theirs) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		panic(err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		panic(err)
	}
	for _, tool := range tools.Tools {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name})
		fmt.Println(tool.Name, err)
	}
}
PROGRAM
go build -o program . 2>/dev/null
output=$(./program)
echo "$output"
[ "$(grep -c 'validating tool output: .*, want one of "null, array"$' <<<"$output")" = 2 ]
echo 'as described'
