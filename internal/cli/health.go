package cli

// This file asks a server how it is.

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

// defaultServer is the URL of a server that was told nothing.
const defaultServer = "http://" + defaultListen

// asked is the answer of one path, or what a server says of an endpoint that it pushes to, as --json writes it.
type asked struct {
	Endpoint string `json:"endpoint"`
	Healthy  bool   `json:"healthy"`
	Took     string `json:"took,omitempty"`
	Version  string `json:"version,omitempty"`
	Circuit  string `json:"circuit,omitempty"` // of an endpoint
	Error    string `json:"error,omitempty"`

	push []server.PushEndpoint
}

func healthCommand(c *cli) *cobra.Command {
	timeout := 5 * time.Second
	var ca string
	cmd := &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a server whether it, its database and its push endpoints are healthy",
		Long: `Ask a server whether it is healthy (/healthz: the process answers) and ready (/readyz: its database answers too), and
show the state of its push endpoints. Without a URL the command asks the server on
this machine, ` + defaultServer + `, the one that --server or STEPWELL_SERVER names, or the address in STEPWELL_LISTEN. If
STEPWELL_TLS_CERT is set, it uses TLS and accepts only that certificate. The exit code is 0 if everything is healthy.

` + exitHelp,
		Example: `  stepwell health
  stepwell health https://stepwell.internal --json
  stepwell health https://stepwell.internal:7373 --ca company.crt`,
		Args: arguments(0, 1, "an optional URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
			var where string
			if len(args) > 0 {
				where = args[0]
			} else if server := c.shownServer(); server != "" {
				where = server
			} else if server := c.getenv("STEPWELL_SERVER"); server != "" {
				where = world.ShownURL(server)
			} else if here, err := hereURL(c, transport); err != nil {
				return err
			} else {
				where = here
			}
			u, err := url.Parse(where)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				return usagef("write it like "+defaultServer, "%q is not the URL of a server", world.ShownURL(where))
			}
			u.User, u.RawQuery, u.Fragment = nil, "", "" // they may have a secret, and say nothing to a server that is asked how it is
			if ca != "" {
				if transport.TLSClientConfig, err = trusting(ca); err != nil {
					return usagef("name a PEM file with the certificates that signed the server's certificate", "--ca: %w", err)
				}
			}
			return askHealth(cmd.Context(), c, u, &http.Client{Timeout: timeout, Transport: transport})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for each answer")
	cmd.Flags().StringVar(&ca, "ca", "", "a PEM `file` of certificates: trust only what they have signed, instead of what this machine trusts")
	c.jsonFlag(cmd, "write one JSON object per path")
	return cmd
}

// hereURL is the URL of the server that has this environment, and lets the transport know its certificate.
func hereURL(c *cli, transport *http.Transport) (string, error) {
	scheme, addr := "http://", defaultListen
	if listen := c.getenv("STEPWELL_LISTEN"); listen != "" {
		host, port, err := net.SplitHostPort(listen)
		if err != nil {
			return "", usagef("write it like 127.0.0.1:7373 or :7373", "STEPWELL_LISTEN: %w", err)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "localhost"
		}
		addr = net.JoinHostPort(host, port)
	}
	if file := c.getenv("STEPWELL_TLS_CERT"); file != "" {
		var err error
		if transport.TLSClientConfig, err = only(file); err != nil {
			return "", usagef("name the file that the server uses", "STEPWELL_TLS_CERT: %w", err)
		}
		scheme = "https://"
	}
	return scheme + addr, nil
}

// only is the TLS of who talks to the holder of one certificate, whatever name that is for.
func only(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fmt.Errorf("%s: no PEM certificate", file)
	}
	verify := func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
			return fmt.Errorf("the server does not have the certificate of %s", file)
		}
		return nil
	}
	// #nosec G402 -- the name alone is not verified, the certificate is
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: verify, MinVersion: tls.VersionTLS12}, nil
}

// trusting is the TLS of who believes what the certificates of a file have signed, and nothing else.
func trusting(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no PEM certificate", file)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

func askHealth(ctx context.Context, c *cli, u *url.URL, client *http.Client) error {
	var sick []string
	var push []server.PushEndpoint
	for _, path := range []string{"/healthz", "/readyz"} {
		is := ask(ctx, client, u.JoinPath(path))
		if !is.Healthy {
			sick = append(sick, path)
		}
		push = append(push, is.push...)
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
		fmt.Fprintf(c.stdout, "%-9s %s (%s)\n", path, human.Visible(word), is.Took)
	}
	ill, err := showPush(c.output, push)
	if err != nil {
		return err
	}
	if len(sick) == 1 && sick[0] == "/readyz" {
		return &fault{exitFailure, fmt.Errorf("%s is running, but not ready", u.Redacted()), "where its database does not answer: is that running? The server's log says why; it goes on by itself when the database is back"}
	}
	if len(sick) > 0 {
		return &fault{exitFailure, fmt.Errorf("%s is not healthy at %s", u.Redacted(), strings.Join(sick, " and ")), "is it running?  stepwell server"}
	}
	if len(ill) > 0 {
		return &fault{exitFailure, fmt.Errorf("%s cannot reach %s, or gets an error", u.Redacted(), strings.Join(ill, " and ")), "try it yourself:  curl " + ill[0] + server.FlowPath + "?__health"}
	}
	return nil
}

// showPush shows the endpoints that a server pushes to, and returns those that are not well.
func showPush(o *output, push []server.PushEndpoint) (ill []string, err error) {
	for _, e := range push {
		if !e.Healthy {
			ill = append(ill, e.Endpoint)
		}
		if o.json {
			if err := o.encoder().Encode(asked{Endpoint: e.Endpoint, Healthy: e.Healthy, Circuit: e.Circuit}); err != nil {
				return nil, err
			}
			continue
		}
		word := "ok"
		if !e.Healthy {
			word = fmt.Sprintf("%d failures in a row, circuit %s", e.Failures, e.Circuit)
		}
		fmt.Fprintf(o.stdout, "push      %s %s\n", human.Visible(e.Endpoint), human.Visible(word))
	}
	return ill, nil
}

// ask asks one path.
func ask(ctx context.Context, client *http.Client, u *url.URL) asked {
	is := asked{Endpoint: u.Redacted()}
	began := time.Now()
	version, push, err := answerOf(ctx, client, u)
	is.Took = time.Since(began).Round(time.Millisecond).String()
	if err != nil {
		is.Error = err.Error()
		return is
	}
	is.Healthy, is.Version, is.push = true, version, push
	return is
}

func answerOf(ctx context.Context, client *http.Client, u *url.URL) (version string, push []server.PushEndpoint, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", nil, err
	}
	resp, err := client.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return "", nil, wrapped.Err // without the URL, which may have a password
	}
	if err != nil {
		return "", nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return "", nil, err
	}
	var is struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"workflowCoreVersion"`
		Push    []server.PushEndpoint
		Detail  string `json:"detail"`
	}
	if err := json.Unmarshal(body, &is); err != nil {
		return "", nil, fmt.Errorf("status %d, and not an answer of Stepwell", resp.StatusCode)
	}
	if resp.StatusCode != http.StatusOK || !is.Healthy {
		return "", nil, fmt.Errorf("status %d: %.200s", resp.StatusCode, is.Detail)
	}
	return is.Version, is.Push, nil
}
