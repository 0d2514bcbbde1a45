package main

// This file shows a person that it works: it is its own client.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// check does what an assistant does first: it connects, lists the tools, and calls one. It says what came of it.
func check(ctx context.Context, s *mcp.Server, version string, writes bool, to io.Writer) error {
	here, there := mcp.NewInMemoryTransports()
	served, err := s.Connect(ctx, here, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = served.Close() }() // nothing is under way
	session, err := mcp.NewClient(&mcp.Implementation{Name: "check", Version: version}, nil).Connect(ctx, there, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = session.Close() }()

	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the tools: %w", err)
		}
		names = append(names, tool.Name)
	}
	kind := "tools that only look"
	if writes {
		kind = "tools, some of which act"
	}
	answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_runs", Arguments: map[string]any{"limit": 1}})
	if err != nil {
		return fmt.Errorf("list_runs: %w", err)
	}
	text := ""
	for _, c := range answer.Content {
		if is, ok := c.(*mcp.TextContent); ok {
			text += is.Text
		}
	}
	if answer.IsError {
		return fmt.Errorf("list_runs: %w", errors.New(text))
	}
	var page struct {
		Runs []struct{ ID string } `json:"runs"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return fmt.Errorf("list_runs: %w", err)
	}
	newest := "there are no runs"
	if len(page.Runs) > 0 {
		newest = "the newest run is " + page.Runs[0].ID
	}
	_, err = fmt.Fprintf(to, "%d %s: %s\nlist_runs answers: %s\n", len(names), kind, strings.Join(names, ", "), newest)
	return err
}
