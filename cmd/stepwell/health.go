package main

// This file asks a server how it is.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// defaultServer is where a server listens that was told nothing.
const defaultServer = "http://127.0.0.1:7373"

// asked is the answer of one path as --json writes it.
type asked struct {
	Endpoint string `json:"endpoint"`
	Healthy  bool   `json:"healthy"`
	Took     string `json:"took"`
	Version  string `json:"version,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (c *cli) health() *cobra.Command {
	timeout := 5 * time.Second
	cmd := &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a server whether it is well and ready",
		Long: `Ask a server whether it is well (/healthz: the process answers) and ready (/readyz: its database does too). Without a URL it asks the server on
this machine, ` + defaultServer + `. The exit code is 0 where both say yes.

` + exitCodes,
		Example: `  stepwell health
  stepwell health https://stepwell.internal --json`,
		Args: arguments(0, 1, "a URL, perhaps"),
		RunE: func(cmd *cobra.Command, args []string) error {
			where := defaultServer
			if len(args) > 0 {
				where = args[0]
			}
			u, err := url.Parse(where)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return usagef("write it like "+defaultServer, "%q is no URL of a server", where)
			}
			return c.askHealth(cmd.Context(), u, timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for each answer")
	c.jsonFlag(cmd, "write one JSON object a path")
	return cmd
}

func (c *cli) askHealth(ctx context.Context, u *url.URL, timeout time.Duration) error {
	var sick []string
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	for _, path := range []string{"/healthz", "/readyz"} {
		is := ask(ctx, client, u.JoinPath(path))
		if !is.Healthy {
			sick = append(sick, path)
		}
		if c.json {
			if err := c.encoder().Encode(is); err != nil {
				return err
			}
			continue
		}
		word := "ok"
		if !is.Healthy {
			word = is.Error
		}
		fmt.Fprintf(c.stdout, "%-9s %s (%s)\n", path, word, is.Took)
	}
	if len(sick) > 0 {
		return &fault{exitFailure, fmt.Errorf("%s does not say yes at %s", u.Redacted(), strings.Join(sick, " and ")), "is it running?  stepwell server"}
	}
	return nil
}

// ask asks one path.
func ask(ctx context.Context, client *http.Client, u *url.URL) asked {
	is := asked{Endpoint: u.Redacted()}
	began := time.Now()
	version, err := answerOf(ctx, client, u)
	is.Took = time.Since(began).Round(time.Millisecond).String()
	if err != nil {
		is.Error = err.Error()
		return is
	}
	is.Healthy, is.Version = true, version
	return is
}

func answerOf(ctx context.Context, client *http.Client, u *url.URL) (version string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return "", wrapped.Err // without the URL, which may have a password
	}
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return "", err
	}
	var is struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"workflowCoreVersion"`
		Detail  string `json:"detail"`
	}
	if err := json.Unmarshal(body, &is); err != nil {
		return "", fmt.Errorf("status %d, and no answer of Stepwell's", resp.StatusCode)
	}
	if resp.StatusCode != http.StatusOK || !is.Healthy {
		return "", fmt.Errorf("status %d: %.200s", resp.StatusCode, is.Detail)
	}
	return is.Version, nil
}
